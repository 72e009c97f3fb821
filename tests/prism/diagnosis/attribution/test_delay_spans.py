"""Test the first and last step of slow spans."""

import numpy as np
import pytest

from prism.diagnosis.attribution._delay_spans import slow_spans
from prism.diagnosis.attribution.comparisons import Case
from tests.prism.faults import BAD, case


def told(name):
    one = Case(case(name))
    return slow_spans(one.view, one.versus_own_steps.delays, one.versus_own_steps.gone, np.ones(len(one.view.ends), bool))


@pytest.mark.parametrize("name", ["slow rank", "slow NIC", "slow uplink", "slower all"])
def test_the_clearest_stretch_is_that_of_the_fault(name):
    best = told(name)[0]
    assert (best.start, best.stop) == (BAD.start, BAD.stop)


def test_a_healthy_job_has_none():
    assert told("nothing") == []
