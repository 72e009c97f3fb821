"""Test the first and last step of slow spans."""

import numpy as np
import pytest

from prism.diagnosis.attribution._delay_spans import _spans_of_rows, _unhidden, slow_spans
from prism.diagnosis.attribution.comparisons import Case
from tests.prism.faults import BAD, case


def told(name):
    one = Case(case(name))
    return slow_spans(one.view, one.versus_own_steps.delays, one.versus_own_steps.gone)


@pytest.mark.parametrize("name", ["slow rank", "slow NIC", "slow uplink", "slower all"])
def test_the_clearest_stretch_is_that_of_the_fault(name):
    best = told(name)[0]
    assert (best.start, best.stop) == (BAD.start, BAD.stop)
    assert best.chance < 0.01


def test_a_healthy_job_has_none():
    assert told("nothing") == []


def test_of_stretches_that_share_their_steps_one_is_told():
    found = told("slow rank")
    spans = [set(range(one.start, one.stop)) for one in found]
    for i, one in enumerate(spans):
        assert all(2 * len(one & other) <= max(len(one), len(other)) for other in spans[:i])


def test_what_others_hide_is_unknown():
    rows = np.zeros((3, 12))
    rows[0, 3:9] = 0.3
    rows[0, 5], rows[1, 5] = 0.0, 0.9
    (first, *_) = _spans_of_rows(rows, 3)
    assert (first.start, first.stop) == (3, 9)
    assert first.chance < 0.05
    assert np.isnan(_unhidden(rows, 0.01)[0, 5])
    assert not np.isnan(_unhidden(rows, 0.01)[0, 3:5]).any()
