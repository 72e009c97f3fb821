"""A sharded model whose layers are gathered once, one way around a ring, and whose gradients are reduced the other way."""

import sys

import numpy as np
import pytest

from prism.analysis import diagnose
from prism.gathered import by_optimizer, in_turns
from prism.kernels.edges import sending
from prism.model import Stream
from tests.prism.traffic import MS, T0, Wire, source

RANKS, STEPS = 6, 14
LAYERS = [1, 3, 2, 4, 2, 5, 1, 2]  # sizes


def trained(*, backward=80, turn=90, optimizer=30, between=0, passes=1, jitter=6, reduced=2, paused=()):
    """Layers 40 ms apart go forward; after a `turn` they come back, so many ms apart, and twice as large."""
    rng, wire, at, ends = np.random.default_rng(2), Wire(tcp=True), T0, []
    there = [(r, (r + 1) % RANKS) for r in range(RANKS)]

    def layer(lanes, octets, apart):
        nonlocal at
        for k in range(RANKS - 1):
            for a, b in lanes:
                wire.send(a, b, octets, at + k * MS)
        at += int((apart + rng.normal(0, 0.05 * apart)) * MS)

    for step in range(STEPS):
        for size in LAYERS:
            layer(there, 50_000 * size, 40)
        at += int((turn - 40 + rng.uniform(0, jitter)) * MS)
        for size in LAYERS[::-1]:
            layer([(b, a) for a, b in there], 50_000 * reduced * size, backward)
        rest = optimizer if (step + 1) % passes == 0 else between
        at -= int((backward - rest - 600 * (step in paused)) * MS)
        ends.append(max(row["end_ns"] for row in wire.rows))
    return wire.flows(), np.array(ends)


def streams(flows):
    forward = (flows.dst - flows.src) % RANKS == 1
    return [Stream("dp", flows.endpoints, np.flatnonzero(own & ~flows.control())) for own in (forward, ~forward)]


@pytest.mark.parametrize(("reduced", "paused"), [(1, ()), (2, ()), (2, (3, 8, 9))])
def test_its_steps_end_with_what_is_reduced_though_the_longest_rest_is_before_that(reduced, paused):
    flows, ends = trained(reduced=reduced, paused=paused)
    found = in_turns(flows, streams(flows), sending(flows))
    assert found.quiet[:, 0].tolist() == ends.tolist()
    begun = np.sort(flows.start_ns[streams(flows)[0].rows])
    assert found.quiet[:-1, 1].tolist() == begun[np.searchsorted(begun, ends[:-1])].tolist()
    (one,) = diagnose(flows, source(flows)).jobs
    assert all(np.abs(steps[:, 1] - ends).max() < 10 * MS for steps in one.timeline.steps)


def test_who_has_few_layers_may_work_on_the_last_one_for_nearly_as_long_as_all_take_forward(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "LAYERS", LAYERS[:3])
    flows, ends = trained(turn=120)
    assert in_turns(flows, streams(flows), sending(flows)).quiet[:, 0].tolist() == ends.tolist()


@pytest.mark.parametrize("other", [{"backward": 40}, {"turn": 400}, {"turn": -180}, {"reduced": 3}])
def test_what_lasts_as_long_rests_for_longer_or_moves_something_else_may_be_something_else(other):
    """Gradients that are scattered and new weights that are gathered take about as long; between steps a job computes; context
    is of any size.
    """
    flows, _ = trained(**other)
    assert not len(in_turns(flows, streams(flows), sending(flows)).quiet)


def test_two_streams_of_the_same_ranks_and_of_nothing_else():
    flows, _ = trained()
    one, other = streams(flows)
    for wrong in (
        [one],
        [one, other, other],
        [one, Stream("pp", other.members, other.rows)],
        [one, Stream("dp", ("x",), other.rows)],
    ):
        assert not len(in_turns(flows, wrong, sending(flows)).quiet)


@pytest.mark.parametrize(("passes", "optimizer"), [(2, 30), (3, 30), (1, 30), (2, 4)])
def test_passes_after_which_no_optimizer_works_are_no_steps(passes, optimizer, monkeypatch):
    """What is reduced after every micro-batch looks like a step; after the last one the job rests for longer."""
    monkeypatch.setattr(sys.modules[__name__], "STEPS", 8 * passes)
    flows, ends = trained(optimizer=optimizer, between=3, passes=passes)
    told = in_turns(flows, streams(flows), sending(flows))
    found = by_optimizer(flows, streams(flows), sending(flows), told)
    whole = passes if optimizer > 3 * 3 else 1
    assert found.quiet[:, 0].tolist() == ends[whole - 1 :: whole].tolist()
    assert found.octets == whole * told.octets
