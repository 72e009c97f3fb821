from dataclasses import replace

import numpy as np
import pytest

from prism.evidence.turn_taking import behind, lead, overlap
from tests.prism.evidence.made import Wire, evidence, pipelined


def both_ways(streams, pair):
    return [[s for s in streams if s.pair == p] for p in (pair, pair[::-1])]


def test_a_pipeline_moves_in_turn_and_activations_lead():
    streams, steps, _, _ = evidence(pipelined())
    there, back = both_ways(streams, (0, 1))
    assert overlap(there, back) == 0
    assert lead(there, back, steps) > 0.2
    assert lead(back, there, steps) == pytest.approx(-lead(there, back, steps))


def test_an_exchange_moves_at_once():
    wire = Wire(["a", "b"])
    for step in range(8):
        for k in range(4):
            wire.send(0, 1, step * 100 + k, 1_000_000)
            wire.send(1, 0, step * 100 + k + 0.1, 1_000_000)
    streams, steps, _, _ = evidence(wire)
    there, back = both_ways(streams, (0, 1))
    assert overlap(there, back) == 1
    assert abs(lead(there, back, steps)) < 0.01


def test_a_pipeline_leads_wherever_steps_are_cut():
    """The k-th activation is ahead of the k-th gradient, also where a bound of the steps lies between them."""
    streams, steps, _, _ = evidence(pipelined())
    there, back = both_ways(streams, (0, 1))
    moved = replace(steps, bounds=steps.bounds + steps.period / 2)
    assert lead(there, back, moved) == pytest.approx(lead(there, back, steps))


def test_a_bound_between_the_last_messages_of_a_step_does_not_pair_them_with_the_next():
    """A recording that ends within a step, and bounds that come before the last gradient of each step."""
    wire = Wire(["a", "b"])
    for step in range(8):
        for k in range(3 + (step < 7)):
            wire.send(0, 1, step * 400 + 70 * k, 1_000_000)
            if step < 7:
                wire.send(1, 0, step * 400 + 70 * k + 60, 1_000_000)
    streams, steps, _, _ = evidence(wire)
    there, back = both_ways(streams, (0, 1))
    assert len(there[0].rows) > len(back[0].rows)
    last = float(np.sort(back[0].start)[3])
    moved = replace(steps, bounds=last - 1e6 + np.arange(-1, 8) * steps.period)
    assert lead(there, back, moved) == pytest.approx(60 / 400, rel=0.05)


@pytest.mark.parametrize(("late", "least", "most"), [(0, 0, 0.1), (10, 0.9, 1.1)])
def test_stages_that_send_at_once_hand_over_a_run_later(late, least, most):
    """Interleaved stages send at the same time but for the first and the last run of a step: a run is 10 ms here."""
    wire = Wire(["a", "b"])
    for step in range(8):
        for k in range(6):
            for part in range(3):
                wire.send(0, 1, step * 200 + 10 * k + part, 1_000_000)
                wire.send(1, 0, step * 200 + 10 * k + part + late, 1_000_000)
    there, back = both_ways(evidence(wire)[0], (0, 1))
    assert least <= behind(there, back) <= most
