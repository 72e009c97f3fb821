import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prism.loops.arrays import change_points
from prism.loops.arrays.change_points import (
    Shift,
    by_chance,
    middle,
    spread,
    standing_out,
    unbroken,
)
from prism.loops.constants import RARE

shift = partial(change_points.shift, least=3, height=0.15)
shifts = partial(change_points.shifts, least=3, height=0.15, score=5.0)


def series(n, *raised, sigma=0.02, seed=0):
    """Noise around 0, raised by (start, stop, by)."""
    values = np.random.default_rng(seed).normal(0, sigma, n)
    for start, stop, by in raised:
        values[start:stop] += by
    return values


@settings(max_examples=80)
@given(st.integers(0, 30), st.integers(4, 20), st.floats(0.4, 2.0), st.integers(0, 99))
def test_a_raised_stretch_is_found_where_it_is(start, length, by, seed):
    one = shift(series(60, (start, start + length, by), seed=seed), 0.02)
    assert (one.start, one.stop) == (start, start + length)
    assert one.height == pytest.approx(by, abs=0.05)
    assert one.score > 5


@given(st.integers(5, 80), st.integers(0, 999))
def test_noise_has_no_stretch(n, seed):
    assert shift(series(n, seed=seed), 0.02) is None
    assert shifts(series(n, seed=seed), 0.02) == []


@given(st.integers(3, 37), st.floats(1.0, 1e6))
def test_a_single_spike_makes_no_stretch(at, by):
    assert shift(series(40, (at, at + 1, by)), 0.02) is None


def test_a_spike_does_not_widen_a_stretch():
    one = shift(series(60, (20, 30, 0.5), (44, 45, 50.0)), 0.02)
    assert (one.start, one.stop) == (20, 30)


def test_a_stretch_goes_on_over_what_is_unknown():
    values = series(40, (10, 20, 0.5))
    values[[12, 15]] = np.nan
    one = shift(values, 0.02)
    assert (one.start, one.stop) == (10, 20)
    assert shift(np.full(10, np.nan), 0.02) is None
    assert shift(np.zeros(0), 0.02) is None


def test_every_stretch_the_strongest_first():
    found = shifts(series(80, (10, 15, 0.4), (40, 60, 0.8)), 0.02)
    assert [(one.start, one.stop) for one in found] == [(40, 60), (10, 15)]


def test_long_series_are_examined_in_pieces():
    one = shift(series(3000, (1700, 1720, 0.5)), 0.02)
    assert (one.start, one.stop) == (1700, 1720)


def test_what_is_known_has_a_middle_and_a_spread():
    values = np.array([[1.0, 2.0, 9.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(middle(values, axis=1), [[2.0], [np.nan]])
    assert middle(values) == 2
    assert spread(np.random.default_rng(0).normal(0, 3, 10_000)) == pytest.approx(3, rel=0.05)
    assert spread(np.array([1.0, 1.0, 500.0])) == spread(np.array([np.nan])) == spread(np.zeros(0)) == 0.01


@given(st.lists(st.lists(st.one_of(st.just(np.nan), st.floats(-1e9, 1e9)), min_size=3, max_size=3), max_size=9))
def test_the_middle_is_the_median_of_what_is_known(rows):
    values = np.array(rows, np.float64).reshape(-1, 3)
    for axis in (0, 1):
        got = np.moveaxis(middle(values, axis=axis), axis, 0)[0]
        for own, one in zip(np.moveaxis(values, axis, -1), got, strict=True):
            known = sorted(own[~np.isnan(own)].tolist())
            assert np.array_equal([one], [np.median(known) if known else np.nan], equal_nan=True)
    known = values[~np.isnan(values)]
    assert np.array_equal([middle(values)], [np.median(known) if len(known) else np.nan], equal_nan=True)


def naively(values, sigma, least, height):
    """The stretch of greatest score, of all: its places, or None; one with holes is looked at again by what of it is high."""
    limit, known, low = 4 * max(height, sigma), np.isfinite(values), height / 2
    for _ in range(4):
        value = np.where(known, np.clip(np.nan_to_num(values) - low, -limit, limit), 0.0)
        total, count = np.append(0, np.cumsum(value)), np.append(0, np.cumsum(known))
        every = [(i, j) for i in range(len(values)) for j in range(i + 1, len(values) + 1) if count[j] - count[i] >= least]
        if not every:
            return None
        i, j = max(every, key=lambda s: ((total[s[1]] - total[s[0]]) / np.sqrt(count[s[1]] - count[s[0]]), -s[0], -s[1]))
        inside = values[i:j][known[i:j]]
        if np.mean(inside >= low) >= 0.75:
            high = np.flatnonzero(values[i:j] >= np.median(inside) / 2) + i
            low = np.flatnonzero(values[i:j] < np.median(inside) / 2) + i
            first, last = max(low[low < high[0]], default=i - 1) + 1, min(low[low > high[-1]], default=j)
            i, j = (first, last) if last - first >= least else (i, j)
            return (i, j) if np.median(inside) >= height else None
        above = inside[inside >= low]
        if len(above) < least or np.median(above) / 2 <= low:
            return None
        low = np.median(above) / 2
    return None


def test_what_is_low_at_its_ends_is_not_of_a_stretch():
    values = np.array([0, 0, 0.157, 0.91, 0.99, 0.95, 0.93, 0.96, 0.196, 0, 0, 0])
    (one,) = shifts(values, 0.002, height=0.04)
    assert (one.start, one.stop) == (3, 8)


def test_two_stretches_near_one_another_are_two():
    values = np.array([0, 0.1, 0, 0, 0.3, 0.2, 0.3, 0.3, 0, 0, 0, 0, 0.3, 0.3, 0.3, 0.3, 0, 0])
    assert sorted((one.start, one.stop) for one in shifts(values, 0.04, height=0.04)) == [(4, 8), (12, 16)]


@given(st.lists(st.sampled_from((-0.5, 0.0, 0.1, 0.2, 0.4, 3.0, float("nan"))), max_size=24), st.integers(1, 5))
def test_the_highest_stretch_is_the_obvious_loops(some, least):
    values = np.array(some, np.float64)
    one = shift(values, 0.02, least=least)
    assert (one and (one.start, one.stop)) == naively(values, 0.02, least, 0.15)


@given(st.lists(st.lists(st.one_of(st.just(np.nan), st.floats(-9, 9)), min_size=3, max_size=3), min_size=1, max_size=6))
def test_the_middle_and_the_spread_are_numpys(rows):
    values = np.array(rows)
    known = values[~np.isnan(values)]
    with warnings.catch_warnings(action="ignore"):
        assert middle(values, axis=1) == pytest.approx(np.nanmedian(values, axis=1, keepdims=True), nan_ok=True)
    expected = 1.4826 * np.median(np.abs(known - np.median(known))) if len(known) else 0.0
    assert spread(values) == pytest.approx(max(expected, 0.01))


def hiccups(rows, steps, *places, by=0.4):
    """Levels of 0, and `by` at some (row, step)."""
    levels = np.zeros((rows, steps))
    levels[tuple(zip(*places, strict=True))] = by
    return levels


def test_two_hiccups_on_end_are_chance_where_single_ones_are_many():
    pair = [(2, 20), (2, 21)]
    alone = [(i % 8, 2 * i + 1) for i in range(9)]
    two = Shift(20, 22, 0.4, 9.0)
    assert by_chance(hiccups(8, 24, *pair), 2, two) == 0.0
    assert by_chance(hiccups(8, 24, *pair, *alone[:1]), 2, two) < RARE
    assert by_chance(hiccups(8, 24, *pair, *alone), 2, two) == pytest.approx(192 * (9 / 160) ** 2)


def test_long_shifts_have_a_chance_too():
    levels = hiccups(2, 6000, *((0, step) for step in range(0, 4000, 2)), *((1, step) for step in range(5)))
    assert 0 <= by_chance(levels, 0, Shift(0, 4000, 0.4, 9.0)) < RARE


def test_more_hiccups_on_end_are_less_by_chance():
    alone = [(i % 8, 2 * i) for i in range(8)]
    levels = hiccups(8, 24, *alone, *((2, step) for step in range(18, 22)))
    assert by_chance(levels, 2, Shift(18, 22, 0.4, 9.0)) < RARE


def test_what_lasted_as_long_elsewhere_is_no_hiccup_nor_what_is_high_meanwhile():
    pair = [(2, 20), (2, 21)]
    other = [(5, step) for step in range(3, 9)]
    along = [(row, 19) for row in range(3, 8)]
    assert by_chance(hiccups(8, 24, *pair, *other, *along), 2, Shift(20, 22, 0.4, 9.0)) == 0.0


def test_a_row_of_many_hiccups_is_believed_less():
    pair = [(2, 20), (2, 21)]
    alone = [(2, 3), (2, 9), (2, 15)]
    assert by_chance(hiccups(64, 24, *pair, *alone), 2, Shift(20, 22, 0.4, 9.0)) > RARE


def test_shifts_of_all_that_is_known_are_no_chance():
    assert by_chance(hiccups(2, 4), 0, Shift(0, 4, 0.4, 9.0)) == 0.0


def test_a_stretch_with_a_low_step_is_chance_more_easily():
    alone = [(i % 8, 2 * i + 1) for i in range(6)]
    four = Shift(18, 22, 0.4, 9.0)
    whole = by_chance(hiccups(8, 24, *((2, step) for step in range(18, 22)), *alone), 2, four)
    holed = by_chance(hiccups(8, 24, *((2, step) for step in (18, 20, 21)), *alone), 2, four)
    assert holed == pytest.approx(4 * whole / (6 / 144))


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5, 2.0, np.nan]), min_size=9, max_size=9), max_size=6),
    st.sampled_from([0.01, 0.1]),
    st.integers(1, 5),
    st.sampled_from([0.0, 5.0, 20.0]),
)
def test_rows_that_stand_out_are_those_that_shift(rows, sigma, least, score):
    rows = np.array(rows, np.float64).reshape(-1, 9)
    noises = {i: max(sigma, spread(np.diff(row)) / np.sqrt(2)) for i, row in enumerate(rows)}
    found = {i: n for i, n in noises.items() if shifts(rows[i], n, least=least, height=0.15, score=score)}
    assert standing_out(rows, sigma, least=least, height=0.15, score=score) == found


def test_a_stretch_with_a_hole_falls_into_parts():
    high = np.array([0, 0, 0.5, 0.02, 0.7, 0.7, 0.8, 0, 0])
    whole = Shift(2, 7, 0.7, 20.0)
    (part,) = unbroken(high, whole, 0.1, least=2)
    assert (part.start, part.stop, part.height) == (4, 7, 0.7)
    assert part.score == pytest.approx(7 * 3**0.5)
    assert [(one.start, one.stop) for one in unbroken(high, whole, 0.1, least=1)] == [(2, 3), (4, 7)]
    assert unbroken(high, part, 0.1, least=2) == []
