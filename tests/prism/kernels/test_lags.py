"""Compiled loops over gaps, against the same in whole arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.kernels.intervals import weighted_median
from prism.kernels.lags import exact, likenesses, medians, recurring_lags, turns

gaps = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), min_size=2, max_size=60)


def drawn(some):
    octets, width = np.array(some, np.float64).T
    return np.cumsum(octets), width.copy()


def likeness(place, width, lag, slack):
    fit = place + lag <= place[-1] + slack
    goal = place[fit] + lag
    at = np.clip(np.searchsorted(place, goal), 1, len(place) - 1)
    at = np.where(np.abs(place[at] - goal) < np.abs(place[at - 1] - goal), at, at - 1)
    other = np.where(np.abs(place[at] - goal) <= slack, width[at], 0.0)
    same, both = np.minimum(width[fit], other), np.maximum(width[fit], other).sum()
    return float(same.sum() / both) if both > 0 else 0.0, weighted_median(place[at] - place[fit], same)


@given(gaps, st.lists(st.integers(1, 80).map(lambda lag: lag / 2), max_size=8), st.sampled_from((0.25, 1.0)))
def test_how_much_is_the_same_later(some, lags, slack):
    place, width = drawn(some)
    known = [likeness(place, width, lag, slack) for lag in lags]
    asked = [(0.0, 0.0), (0.5, 0.0), (0.0, 0.9)]
    whole, cut, nearly = (likenesses(place, width, np.array(lags, np.float64), slack, *least) for least in asked)
    assert whole.tolist() == [same for same, _ in known]
    assert all(one == other if one > 0.5 else other < 0.5 + 1e-9 for one, other in zip(whole, cut, strict=True))
    most = 0.9 * max(whole, default=0.0)
    assert all(one == other if one > most else other < most + 1e-9 for one, other in zip(whole, nearly, strict=True))
    assert [exact(place, width, lag, slack) for lag in lags] == [lag for _, lag in known]


@given(gaps, st.data(), st.sampled_from((0.25, 1.0)))
def test_lags_that_recur(some, data, slack):
    place, _ = drawn(some)
    anchors = np.array(data.draw(st.lists(st.integers(0, len(place) - 1), min_size=1, max_size=6)), np.int64)
    longest = (place[-1] - place[0]) / 2
    apart = np.sort((place[None, :] - place[anchors][:, None]).ravel())
    apart = apart[(apart > 4 * slack) & (apart <= longest)]
    parts = np.split(apart, np.flatnonzero(np.diff(apart) > slack) + 1)
    told = [float(np.median(part)) for part in parts if len(part) >= 3]
    assert recurring_lags(place, anchors, slack, longest).tolist() == told


@given(gaps, st.sampled_from((0.5, 1.5)), st.sampled_from((1.0, 2.5)))
def test_medians_of_what_lies_together(some, wide, least):
    offset, width = (np.array(column, np.float64) for column in zip(*sorted(some), strict=True))
    parts = np.split(np.arange(len(some)), np.flatnonzero(np.diff(offset) > wide) + 1)
    told = [(float(np.median(offset[part])), float(np.median(width[part]))) for part in parts if len(part) >= least]
    at, size = medians(offset, width, wide, least)
    assert list(zip(at.tolist(), size.tolist(), strict=True)) == told


@given(gaps, st.sampled_from((1, 2)), st.sampled_from((0.1, 0.6)))
def test_the_best_split_of_two_runs(some, parts, even):
    place, width = drawn([(octets + 1, wide) for octets, wide in some])
    n, lag, least, higher, low, high = len(place), float(place[-1]), 2, 0.2, 0.25, 0.55
    place, width = np.concatenate([place, place + lag]), np.tile(np.log(width), 2)
    rest, uneven, moved = turns(place, width, lag, parts, least, higher, even, low, high)
    for first in range(n):
        choices = {}
        for turn in range(first + 1 + least, first + n - least):
            runs = np.arange(first + 1, turn), np.arange(turn + 1, first + n)
            if low <= (place[turn] - place[first]) / lag <= high and n >= 2 * least + 2:
                own = [run[run % parts == part] for run in runs for part in range(parts)]
                around = sum(((width[one] - width[one].mean()) ** 2).sum() for one in own if len(one))
                spread = ((width[np.concatenate(runs)] - width[np.concatenate(runs)].mean()) ** 2).sum()
                apart = width[runs[1]].mean() - width[runs[0]].mean()
                if abs(apart - higher) < 1e-9 or abs(around - even * spread) < 1e-9:
                    return  # either would do
                if apart > higher and around < even * spread:
                    choices[turn] = around, around / spread, (place[turn] - place[first]) / lag
        best = min(choices.values(), default=(np.inf, np.inf, np.inf))
        assert np.isclose(rest[first], best[0], atol=1e-9)
        assert np.isclose(uneven[first], best[1], atol=1e-6) or len(choices) > 1
        assert np.isclose(moved[first], best[2], atol=1e-9) or len(choices) > 1
