from dataclasses import replace

import pytest

from prism.evidence.turn_taking import lead, overlap
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
