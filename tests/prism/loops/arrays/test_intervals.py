"""Interval algebra against bitmaps: an instant per place, true where it is covered."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.intervals import active, covered, intersection, union, weighted_median

SIZE = 64
INTERVALS = st.lists(st.tuples(st.integers(0, SIZE - 9), st.integers(1, 8)), max_size=12)


def arrays(intervals):
    start, length = (np.array(x, np.int64) for x in zip(*intervals, strict=True)) if intervals else np.zeros((2, 0), np.int64)
    return start, start + length


def bitmap(start, end):
    cells = np.zeros(SIZE, bool)
    for a, b in zip(start, end, strict=True):
        cells[a:b] = True
    return cells


@given(INTERVALS, st.integers(0, 5))
def test_a_union_covers_the_same_and_leaves_no_gap_to_close(intervals, close):
    start, end = union(*arrays(intervals), close=close)
    cells = bitmap(*arrays(intervals))
    places = np.flatnonzero(cells)
    for a, b in pairwise(places):
        if b - a - 1 <= close:
            cells[a:b] = True
    assert bitmap(start, end).tolist() == cells.tolist()
    assert (start[1:] - end[:-1] > close).all()
    assert (start < end).all()


@given(INTERVALS, st.data())
def test_what_is_active_is_the_union_but_for_short_gaps(intervals, data):
    start, end = arrays(sorted(intervals))
    weight = np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(start), max_size=len(start))), np.int64)
    expected = union(start, end, close=weighted_median(end - start, weight) / 4)
    assert [side.tolist() for side in active(start, end, weight)] == [side.tolist() for side in expected]


@given(INTERVALS, INTERVALS)
def test_covered_is_the_share_of_cells(intervals, others):
    start, end = arrays(intervals)
    within = union(*arrays(others))
    cells = bitmap(*within)
    expected = [cells[a:b].mean() for a, b in zip(start, end, strict=True)]
    assert covered(start, end, within) == pytest.approx(np.array(expected, dtype=float))


@given(INTERVALS, INTERVALS)
def test_an_intersection_is_what_both_cover(intervals, others):
    a, b = union(*arrays(intervals)), union(*arrays(others))
    start, end = intersection(a, b)
    assert bitmap(start, end).tolist() == (bitmap(*a) & bitmap(*b)).tolist()
    assert (start[1:] > end[:-1]).all()


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=10))
def test_a_weighted_median_is_the_median_of_repeats(pairs):
    values, weights = (np.array(x, np.int64) for x in zip(*pairs, strict=True))
    ranked = sorted(np.repeat(values, weights).tolist())
    assert weighted_median(values, weights) == ranked[(len(ranked) + 1) // 2 - 1]


def test_an_instant_lies_within_wholly_or_not_at_all():
    within = (np.array([10]), np.array([20]))
    times = np.array([9, 10, 15, 20, 21])
    assert covered(times, times, within).tolist() == [0, 1, 1, 1, 0]


def test_nothing_covers_nothing():
    none = np.zeros(0, np.int64)
    assert covered(np.array([1]), np.array([2]), (none, none)).tolist() == [0]
    assert len(union(none, none)[0]) == len(intersection((none, none), (none, none))[0]) == 0
    assert weighted_median(none, none) == 0


def train(seed, *, period=1000, busy=300, steps=200, wander=30):
    """Busy for a while in each period, whose length varies."""
    chance = np.random.default_rng(seed)
    start = np.cumsum(chance.integers(period - wander, period + wander, steps)).astype(np.int64)
    return start, start + busy
