import numpy as np
import pytest

from prism.steps.step_bounds import rank_steps, steps_of
from tests.prism.steps.made import MS, buckets, sequences


@pytest.mark.parametrize("made", [{}, {"jitter": 0.3}, {"hang": (4,)}, {"steps": 40, "jitter": 0.1}])
def test_every_rank_ends_its_steps_with_its_last_message(made):
    wire, ends = buckets(**made)
    found = sequences(wire)
    steps = rank_steps(found, steps_of(found), 4)
    for own in steps:
        assert len(own) == len(ends)
        assert np.abs(own[:, 1] - ends).max() <= 5 * MS
        assert np.all(own[1:, 0] == own[:-1, 1])


def test_results_do_not_depend_on_time_or_on_the_order_of_rows():
    wire, _ = buckets(jitter=0.2)
    found = sequences(wire)
    before = rank_steps(found, steps_of(found), 4)
    wire.rows = [(start + 7 * MS, end + 7 * MS, *rest) for start, end, *rest in reversed(wire.rows)]
    later = sequences(wire)
    for own, moved in zip(before, rank_steps(later, steps_of(later), 4), strict=True):
        assert np.array_equal(own + 7 * MS, moved)


def test_equal_buckets_are_no_steps():
    wire, ends = buckets(signal=False)
    found = sequences(wire)
    assert all(len(own) == len(ends) for own in rank_steps(found, steps_of(found), 4))
