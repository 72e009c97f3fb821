"""When collectives rest, of the records of a ring that reduces once per step and of one that moves all through it."""

import numpy as np
import pytest

from prism.layout.labels.rest_times import beat_of, goes_with, rest_of, step_of, steps_of
from prism.loops.communicators.pair_lockstep import Collective
from tests.prism.traffic import MS, T0, Wire

STEPS, STEP = 12, 200


def moved(at):
    """Two pairs that send at some times in each step, ms: the records, and each pair as a collective."""
    wire = Wire()
    for step in range(STEPS):
        for src, own in enumerate(at):
            for when in own:
                wire.send(2 * src, 2 * src + 1, 1_000_000, T0 + (step * STEP + when) * MS)
    flows = wire.flows()
    rows = [np.flatnonzero(flows.src == 2 * src) for src in range(len(at))]
    window = (flows.start_ns[:1], flows.end_ns[-1:])
    return flows, [Collective(frozenset([(2 * i, 2 * i + 1, 0)]), own, window) for i, own in enumerate(rows)]


def test_a_step_is_as_long_as_the_slowest_rhythm_and_parts_of_it_rest_for_less():
    flows, ones = moved([[0, 2, 4], [0, 50, 100, 150]])
    once, parts = (steps_of(flows, one.rows[::-1]) for one in ones)
    assert step_of([once, parts]) == once.period_ns == pytest.approx(STEP * MS, rel=0.01)
    assert rest_of(once, once.period_ns) > 0.9 > 0.3 > rest_of(parts, once.period_ns)
    assert rest_of(parts, 0.0) == 0.0


def test_the_rhythm_of_one_collective_is_told_once_and_that_of_several_is_theirs_together():
    flows, ones = moved([[0, 2, 4], [50, 52, 54]])
    assert beat_of(flows, ones[:1]) is beat_of(flows, ones[:1])
    assert beat_of(flows, ones[:1]).quiet.tolist() == steps_of(flows, ones[0].rows).quiet.tolist()
    both = steps_of(flows, np.concatenate([one.rows for one in ones]))
    assert beat_of(flows, ones).quiet.tolist() == both.quiet.tolist()


def test_what_moves_when_a_reduction_does_goes_with_it_and_what_moves_while_it_rests_does_not():
    for inner, with_it in (([6, 8], True), ([50, 120], False)):
        flows, (around, one) = moved([[0, 2, 4], inner])
        calm = rest_of(steps_of(flows, around.rows), STEP * MS)
        assert goes_with(flows, [one], [around], calm, STEP * MS) is with_it
