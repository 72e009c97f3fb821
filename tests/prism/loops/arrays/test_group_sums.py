"""Grouping by counting and hashing, against sorts that are slow and obvious."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.group_sums import (
    by_group,
    counted,
    distinct,
    latest,
    numbered,
    numbered_pairs,
    places_in,
    preceding,
    ranges,
)

keys = st.lists(st.integers(0, 9), max_size=60)


@given(keys)
def test_counting_sorts_stably(some):
    values = np.array(some, np.int32)
    order, begins = counted(values, 10, np.arange(len(values)))
    assert order.tolist() == np.argsort(values, kind="stable").tolist()
    assert begins.tolist() == [int((values < k).sum()) for k in range(11)]


def test_an_order_is_sorted_on():
    order, _ = counted(np.array([1, 0, 1, 0]), 2, np.array([3, 2, 1, 0]))
    assert order.tolist() == [3, 1, 2, 0]


@given(st.lists(st.tuples(st.integers(-(1 << 60), 1 << 60) | st.integers(0, 3), st.integers(0, 2)), max_size=80))
def test_keys_are_numbered_as_they_appear(some):
    one, other = (np.array([pair[side] for pair in some], np.int64) for side in (0, 1))
    number, first = numbered(one, other, room=4)
    known = list(dict.fromkeys(some))
    assert number.tolist() == [known.index(pair) for pair in some]
    assert first.tolist() == [some.index(pair) for pair in known]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=6, max_size=80), st.booleans())
def test_small_keys_are_numbered_as_they_appear(some, short):
    one, other = (np.array([pair[side] for pair in some], np.int32 if short else np.int64) for side in (0, 1))
    number, first = numbered(one, other)
    known = list(dict.fromkeys(some))
    assert number.tolist() == [known.index(pair) for pair in some]
    assert first.tolist() == [some.index(pair) for pair in known]


@given(keys)
def test_distinct_values(some):
    assert distinct(np.array(some, np.int64)).tolist() == sorted(set(some))


moments = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 20)), max_size=30)


@given(moments, moments)
def test_the_latest_of_a_group(given, asked):
    (group, time), (ask, at) = (np.array(some, np.int64).reshape(-1, 2).T for some in (given, asked))
    found = latest(group, time, ask, at)
    none = latest(group[:0], time[:0], np.zeros(1, np.int64), np.zeros(1, np.int64))[0]
    assert found.tolist() == [max((t for h, t in given if h == g and t <= when), default=none) for g, when in asked]


@given(st.lists(st.lists(st.integers(0, 20)), min_size=1, max_size=4), st.lists(st.integers(0, 21)))
def test_places_in_rows_of_their_own(rows, times):
    which = np.arange(len(times)) % len(rows)
    found = places_in([np.array(sorted(row), np.int64) for row in rows], which, np.array(times, np.int64))
    assert found.tolist() == [sum(t < when for t in rows[i]) for i, when in zip(which, times, strict=True)]


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 21)), st.booleans())
def test_places_that_precede_moments(places, moments, same):
    found = preceding(np.array(sorted(places), np.int64), np.array(moments, np.int64), same)
    assert found.tolist() == [sum(t <= when if same else t < when for t in places) for when in moments]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=8))
def test_ranges_on_end(some):
    low, length = np.array(some, np.int64).reshape(-1, 2).T
    assert ranges(low, low + length).tolist() == [i for a, n in some for i in range(a, a + n)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), max_size=30), st.booleans())
def test_records_come_by_group_and_time(some, ascending):
    some = sorted(some, key=lambda one: one[1]) if ascending else some
    group, times = (np.array([one[k] for one in some], np.int64) for k in range(2))
    order, begins = by_group(group, 4, times)
    assert order.tolist() == np.lexsort([times, group]).tolist()
    assert begins.tolist() == [int((group < k).sum()) for k in range(5)]


def test_pairs_are_numbered_in_order_of_their_codes():
    src, dst = np.array([3, 0, 3, 1], np.int32), np.array([1, 2, 1, 0], np.int32)
    codes, place = numbered_pairs(src, dst, 4)
    assert codes.tolist() == [2, 4, 13]
    assert place.tolist() == [2, 0, 2, 1]
