"""Idle shares of a ring that reduces once per step and of a ring that moves throughout the step."""

import numpy as np
import pytest

from prism.layout.labels.collective_rhythms import idle_share, moves_with, rhythm_of, rhythm_of_rows, step_duration
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
    once, parts = (rhythm_of_rows(flows, one.rows[::-1]) for one in ones)
    assert step_duration([once, parts]) == once.period_ns == pytest.approx(STEP * MS, rel=0.01)
    assert idle_share(once, once.period_ns) > 0.9 > 0.3 > idle_share(parts, once.period_ns)
    assert idle_share(parts, 0.0) == 0.0


def test_the_rhythm_of_one_collective_is_computed_once_and_several_are_joined():
    flows, ones = moved([[0, 2, 4], [50, 52, 54]])
    assert rhythm_of(flows, ones[:1]) is rhythm_of(flows, ones[:1])
    assert rhythm_of(flows, ones[:1]).quiet.tolist() == rhythm_of_rows(flows, ones[0].rows).quiet.tolist()
    both = rhythm_of_rows(flows, np.concatenate([one.rows for one in ones]))
    assert rhythm_of(flows, ones).quiet.tolist() == both.quiet.tolist()


def test_a_collective_that_moves_during_a_reduction_goes_with_it():
    for inner, with_it in (([6, 8], True), ([50, 120], False)):
        flows, (around, one) = moved([[0, 2, 4], inner])
        idle = idle_share(rhythm_of_rows(flows, around.rows), STEP * MS)
        assert moves_with(flows, [one], [around], idle, STEP * MS) is with_it
