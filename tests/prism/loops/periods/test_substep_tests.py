from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.periods.substep_tests import _by_place, _groups, may_be_buckets, of_their_own

MS = 1_000_000


def logarithms(lengths, last):
    every = np.log(np.maximum(_groups(lengths, last), 1))
    return every[:, 1:].copy(), every[:, 0].copy()


def beats(*groups, long=300.0):
    """Groups of beats of so many ms, a long one before each: logarithms of their lengths, and of the long ones."""
    lengths = np.array([long, *(x for group in groups for x in (*group, long))])
    return logarithms((lengths * MS).astype(np.int64), lengths == long)


def made(groups, places, *, together=0.0, apart=0.0, by_place=0.0, slow=(), seed=1):
    """Beats of 100 ms that vary so much with their group, each for itself, with their place; `slow` ones last half longer."""
    rng = np.random.default_rng(seed)
    length = together * rng.normal(size=(groups, 1)) + apart * rng.normal(size=(groups, places))
    length = 100 * np.exp(length + by_place * (np.arange(places) >= places // 3))
    flat = length.ravel()
    flat[list(slow)] *= 1.5
    return beats(*flat.reshape(groups, places))


def test_the_longest_of_each_group_and_groups_of_another_size_are_left_out():
    found, _ = beats((1, 2, 3), (4, 5, 6), (7, 8), (9, 10, 11))
    assert np.exp(found).round().tolist() == [
        [1 * MS, 2 * MS, 3 * MS],
        [4 * MS, 5 * MS, 6 * MS],
        [9 * MS, 10 * MS, 11 * MS],
    ]
    assert logarithms(np.arange(5), np.zeros(5, np.bool_))[0].shape == (0, 0)


@pytest.mark.parametrize("seed", range(8))
def test_parts_of_one_step_vary_together(seed):
    found, _ = made(12, 4, together=0.03, apart=0.002, seed=seed)
    assert not of_their_own(found)


def test_most_steps_of_their_own_are_reported():
    assert np.mean([of_their_own(made(12, 4, apart=0.03, slow=range(17, 24), seed=seed)[0]) for seed in range(100)]) > 0.8


def test_parts_may_differ_by_their_place():
    found, _ = made(6, 8, apart=0.02, by_place=0.5)
    assert _by_place(found)
    assert not of_their_own(found)


@pytest.mark.parametrize(("long", "may"), [(11.0, False), (18.0, False), (25.0, True), (50.0, True), (700.0, True)])
def test_buckets_of_a_backward_pass_leave_a_forward_pass(long, may):
    """Four of 10 ms, and one with a forward pass of 10 ms or more."""
    assert may_be_buckets(*beats(*[[10.0] * 4] * 6, long=long)) == may


@pytest.mark.parametrize("groups", [(), ((10, 10),), ((10,), (11,), (12,), (9,), (10,))])
def test_of_too_few_nothing_is_reported(groups):
    found, _ = beats(*groups)
    assert not of_their_own(found)


def test_few_groups_hardly_ever_differ_by_place_by_chance():
    assert np.mean([_by_place(made(4, 4, apart=0.03, seed=seed)[0]) for seed in range(200)]) < 0.03


def slowly_by_place(length):
    if length.shape[1] < 4:
        return False
    usual = np.median(length, axis=0)
    apart = 3 * (1 + 4 / len(length)) * np.median(np.abs(length - usual))
    return bool(np.ptp(np.sort(usual)[1:-1]) > apart)


def slowly_across(length):
    if min(length.shape) < 2:
        return 0.0, 1.0
    within = np.abs(np.diff(length, axis=1)).ravel()
    across = np.abs(length[1:, 0] - length[:-1, -1])
    less = [(np.sum(within < one) + np.sum(within <= one)) / 2 for one in across]
    n, m = len(within), len(across)
    return float(np.mean(less)) / n - 0.5, float(np.sqrt((n + m + 1) / (12 * n * m)))


@given(st.integers(1, 7), st.integers(0, 6), st.data())
def test_beats_are_told_as_by_whole_arrays(groups, places, data):
    drawn = st.lists(st.integers(0, 9), min_size=groups * places, max_size=groups * places)
    length = np.array(data.draw(drawn), np.float64).reshape(groups, places) / 8
    by_place = slowly_by_place(length)
    assert _by_place(length) == by_place
    more, varies = slowly_across(length)
    even = min(length.shape) > 1 and np.median(np.abs(np.diff(length, axis=1))) <= 0.3
    assert of_their_own(length) == (groups >= 4 and more < 1.5 * varies and bool(even) and not by_place)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40))
def test_groups_are_those_between_the_last_of_each(some):
    lengths, last = (np.array([one[i] for one in some], dtype) for i, dtype in ((0, np.int64), (1, np.bool_)))
    places = np.flatnonzero(last).tolist()
    parts = [lengths[a:b].tolist() for a, b in pairwise(places)]
    sizes = [len(part) for part in parts]
    usual = min(set(sizes), key=lambda size: (-sizes.count(size), size), default=1)
    told = np.log(np.maximum([part for part in parts if len(part) == usual] or np.zeros((0, 1)), 1))
    found, longest = logarithms(lengths, last)
    assert longest.tolist() == told[:, 0].tolist()
    assert found.tolist() == told[:, 1:].tolist()
