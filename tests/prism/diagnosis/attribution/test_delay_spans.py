"""Test the first and last step of slow spans."""

import numpy as np
import pytest

from prism.diagnosis.attribution._delay_spans import slow_spans
from prism.diagnosis.attribution.comparisons import Case
from tests.prism.faults import BAD, RANK, case
from tests.prism.traffic import placed, seen, training


def told(name):
    one = Case(case(name))
    return slow_spans(one.view, one.versus_own_steps.delays, one.versus_own_steps.gone, np.ones(len(one.view.ends), bool))


@pytest.mark.parametrize("name", ["slow rank", "slow NIC", "slow uplink", "slower all"])
def test_the_clearest_stretch_is_that_of_the_fault(name):
    best = told(name)[0]
    assert (best.start, best.stop) == (BAD.start, BAD.stop)


@pytest.mark.parametrize(("slow", "told"), [((7, 9), [(7, 9)]), ((4, 6), [])])
def test_two_slow_steps_are_a_span_at_the_end_only(slow, told):
    """There it may go on; elsewhere two may be chance."""
    work = lambda step, rank: 40.0 if rank == RANK and slow[0] <= step < slow[1] else 20.0  # noqa: E731
    one = Case(seen(training(dp=8, steps=9, work=work).flows(placed(8)), placed(8)))
    own = one.versus_own_steps
    spans = slow_spans(one.view, own.delays, own.gone, np.ones(len(one.view.ends), bool))
    assert sorted({(span.start, span.stop) for span in spans}) == told


def test_a_healthy_job_has_none():
    assert told("nothing") == []
