import numpy as np
import pytest

from prism.beats import _parted, beat
from prism.kernels.chorus import Chorus
from prism.kernels.rhythm import NONE, Rhythm
from prism.model import Layout, Parallelism, Stream
from tests.prism.traffic import MS, T0, Wire


def told(wire, groups, until=0):
    """The beat of streams that reduce gradients, each among some ranks, of what was collected `until` then."""
    flows = wire.flows()
    rows = [np.flatnonzero(np.isin(flows.src, members)) for members in groups]
    streams = tuple(Stream("dp", tuple(flows.endpoints[m] for m in own), r) for own, r in zip(groups, rows, strict=True))
    return beat(flows, Parallelism(Layout(2, 2, 1, 1, 1, 1.0), (), (), {}, streams), streams, until=until)


def reductions(wire, members, at, share=1.0):
    for a, b in (members, members[::-1]):
        for k in range(round(8 * share)):
            wire.send(a, b, 1_000_000, at + k * MS)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_step_that_one_stage_completed_and_another_did_not_is_none(share):
    """The second stage reduces when the first has: a rank that goes away meanwhile leaves a step cut short."""
    wire, at = Wire(), T0
    for step in range(16):
        broken = step == 7 and share < 1
        reductions(wire, (2, 3), at + 60 * MS)
        reductions(wire, (0, 1), at + 80 * MS, share if broken else 1.0)
        at += (2000 if step == 7 else 100) * MS
    assert len(told(wire, ((0, 1), (2, 3))).clock.quiet) == (16 if share == 1 else 15)


@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
def test_a_last_step_that_not_all_stages_completed_before_they_fell_silent_is_none(share):
    wire, at = Wire(), T0
    for step in range(16):
        reductions(wire, (2, 3), at + 60 * MS)
        reductions(wire, (0, 1), at + 80 * MS, share if step == 15 else 1.0)
        at += 100 * MS
    groups = (0, 1), (2, 3)
    assert len(told(wire, groups, at + 500 * MS).clock.quiet) == (16 if share == 1 else 15)
    assert len(told(wire, groups, at).clock.quiet) == 16  # the capture's end


def test_a_hang_inside_a_step_cuts_nothing_short():
    wire, at = Wire(), T0
    for step in range(16):
        reductions(wire, (2, 3), at + 60 * MS)
        reductions(wire, (0, 1), at + 80 * MS, 0.5)
        reductions(wire, (0, 1), at + (2084 if step == 7 else 84) * MS, 0.5)
        at += (2100 if step == 7 else 100) * MS
    assert len(told(wire, ((0, 1), (2, 3))).clock.quiet) == 16


def test_without_streams_there_is_none():
    wire = Wire()
    reductions(wire, (0, 1), T0)
    assert told(wire, ()).clock is NONE


def test_what_moves_after_all_have_spoken_is_of_the_next_step():
    """A rest of the heaviest stream in which others have ended, and begun again, is parted where the chorus came."""
    wire, at = Wire(), T0 + 400 * MS * np.arange(6)
    for begun in at.tolist():
        for a in range(3):
            b = (a + 1) % 3
            wire.send(a, b, 9_000_000, begun)
            last = wire.send(b, a, 1_000_000, begun + 30 * MS) - begun
            wire.send(b, a, 1_000_000, begun + 100 * MS)
    flows = wire.flows()
    back = (flows.dst + 1) % 3 == flows.src
    streams = [Stream("dp", (), np.flatnonzero(~back)), Stream("ep", (), np.flatnonzero(back))]
    quiet = np.stack([at + 8 * MS, at + 400 * MS], axis=1)
    found = _parted(flows, streams, Chorus(Rhythm(quiet, 27_000_000, 1.0), at + 50 * MS))
    assert found - at[:, None] == pytest.approx(np.tile([last, 100 * MS], (6, 1)), abs=MS / 10)
    elsewhere = Chorus(Rhythm(quiet, 27_000_000, 1.0), at - 50 * MS)
    assert _parted(flows, streams, elsewhere).tolist() == quiet.tolist()
