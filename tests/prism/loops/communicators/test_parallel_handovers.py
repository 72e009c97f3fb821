"""Who goes at a pace of its own, and who waits for the other."""

import numpy as np
import pytest

from prism.loops.communicators.parallel_handovers import own_pace
from prism.loops.constants import COMPARED_TIMES

MS = 1_000_000


def steps(chance, pieces=8, rests=10, uneven=0.02):
    """When each of 8 pieces of work of a step is done, which take 50 ms but for chance; and after each step a rest."""
    work = chance.normal(50, 50 * uneven, (rests, pieces)) * MS
    work[:, 0] += 400 * MS
    return np.cumsum(work).astype(np.int64)


def test_those_in_step_are_late_for_the_same_reasons():
    one = steps(np.random.default_rng(1))
    assert own_pace(one, one + np.random.default_rng(2).integers(0, MS // 10, len(one))) < 0.2
    assert own_pace(one, one[1:]) < 0.2  # what is not seen of the other changes nothing


@pytest.mark.parametrize("uneven", [0.002, 0.05])
def test_each_may_go_at_its_own_pace_until_a_step_ends(uneven):
    chance = np.random.default_rng(3)
    one = steps(chance, uneven=uneven).reshape(10, 8)
    other = one[:, :1] + np.cumsum(chance.normal(50, 50 * uneven, (10, 8)) * MS, axis=1).astype(np.int64) - 50 * MS
    assert 0.7 < own_pace(one.ravel(), other.ravel()) < 1.5


def test_of_few_nothing_is_reported():
    one = steps(np.random.default_rng(1))
    assert np.isnan(own_pace(one[: COMPARED_TIMES - 1], one))
    assert np.isnan(own_pace(one, one[:0]))
    assert np.isnan(own_pace(one[:COMPARED_TIMES], one[:COMPARED_TIMES]))  # one interval of those is a rest
