import numpy as np
import pytest

from prism.counting import counted_steps, in_groups_too
from prism.kernels.edges import sending
from prism.kernels.rhythm import NONE, Rhythm
from prism.model import Stream
from tests.prism.traffic import MS, T0, Wire


def grouped(other, *, steps=28, every=7, pause_ms=1500):
    """A reduction of two once a step, and what `other` sends before the k-th reduction of a step; evaluations between."""
    wire, at = Wire(), T0
    for step in range(steps):
        other(wire, step, at)
        for k in range(4):
            wire.send(0, 1, 1_000_000, at + (200 + k) * MS)
            wire.send(1, 0, 1_000_000, at + (200 + k) * MS)
        at += (240 + pause_ms * (step % every == every - 1)) * MS
    flows = wire.flows()
    inside = np.isin(flows.src, (0, 1)) & np.isin(flows.dst, (0, 1))
    members = tuple(flows.endpoints)
    rest = [Stream("pp", members[2:4], np.flatnonzero(~inside))] if not inside.all() else []
    return flows, [Stream("dp", members[:2], np.flatnonzero(inside)), *rest]


def hand_on(wire, _step, at):
    for k in range(4):
        wire.send(2, 3, 500_000, at + 20 * k * MS)


def test_as_much_handed_on_before_each_reduction_tells_steps():
    flows, streams = grouped(hand_on)
    assert counted_steps(flows, streams, sending(flows), 0) == 28


def test_what_is_handed_on_before_the_first_of_many_tells_that_they_are_parts():
    """Seven parts of one reduction follow one another, and nothing is handed on between them."""
    flows, streams = grouped(lambda wire, step, at: hand_on(wire, step, at) if step % 7 == 0 else None)
    assert counted_steps(flows, streams, sending(flows), 0) in (0, 4)


def test_where_more_is_handed_on_before_the_first_nothing_is_known():
    """Forward passes go before the first part of a reduction, backward passes before each."""
    flows, streams = grouped(lambda w, step, at: w.send(2, 3, 500_000 * (1 if step % 7 else 4), at))
    assert counted_steps(flows, streams, sending(flows), 0) in (0, 4)


def test_without_anything_else_nothing_is_known():
    flows, streams = grouped(lambda *_: None)
    assert counted_steps(flows, streams, sending(flows), 0) == 0


def rhythm_of(n, *, grouped=False):
    ends = T0 + np.arange(n) * 7000 * MS // n
    return Rhythm(np.stack([ends, ends + MS], axis=1), 1, 1.0, grouped)


@pytest.mark.parametrize(
    ("fine", "coarse", "sure", "kept"), [(6, 3, False, False), (3, 6, True, False), (2, 7, True, True), (3, 6, False, True)]
)
def test_reductions_that_only_show_groups_follow_those_that_show_steps(fine, coarse, sure, kept):
    """Half must show steps, or a third that they come in groups; what cannot show them then shows nothing."""
    flows, (stream,) = grouped(lambda *_: None, pause_ms=0, steps=4)
    heard = [(True, rhythm_of(28, grouped=sure))] * fine + [(True, rhythm_of(4))] * coarse
    told = in_groups_too(flows, sending(flows), [(stream, stream.rows)] * len(heard), heard, 0.02)
    assert told == (heard if kept else [*heard[:fine], *[(False, NONE)] * coarse])


def test_reductions_that_may_show_steps_too_do():
    flows, (stream,) = grouped(lambda *_: None)
    heard = [(True, rhythm_of(28))] * 2 + [(True, rhythm_of(4))]
    told = in_groups_too(flows, sending(flows), [(stream, stream.rows)] * 3, heard, 0.02)
    assert [len(own.quiet) for _, own in told] == [28, 28, 28]
