"""Operate on sets of time intervals: union, closing of gaps, and coverage of one by another.

A set is a pair of int64[n] arrays, start and end in ns, sorted and disjoint if a function requires a *union*.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import distinct
from prism.loops.arrays.orders import ascending, in_order

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Union = tuple[Ints, Ints]


def union(start: Ints, end: Ints, *, close: float = 0.0) -> Union:
    """Compute the union of intervals in any order; neighbours at most `close` ns apart are merged."""
    if len(start) == 0:
        return start[:0], end[:0]
    if not ascending(start):
        order = in_order(start)
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    apart = np.concatenate([[True], start[1:] - reach[:-1] > close])
    return start[apart], reach[np.append(apart[1:], True)]


def covered(start: Ints, end: Ints, within: Union) -> Floats:
    """Share 0 … 1 of each interval that is covered by a union; an instant is covered fully or not at all."""
    (before, inside), (until, _) = _lengths(start, *within), _lengths(end, *within)
    return np.where(end > start, (until - before) / np.maximum(end - start, 1), inside)


def _lengths(times: Ints, first: Ints, last: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Length of a union before each time, and whether the time is in it, including its ends."""
    if not len(first):
        return np.zeros(len(times), np.int64), np.zeros(len(times), np.bool_)
    k = np.searchsorted(first, times, side="right") - 1
    long, at = last - first, np.maximum(k, 0)
    length = (np.cumsum(long) - long)[at] + np.minimum(times, last[at]) - first[at]
    return np.where(k >= 0, length, 0), (k >= 0) & (times <= last[at])


def intersection(a: Union, b: Union) -> Union:
    """Compute the intersection of two unions, again a union."""
    cuts = distinct(np.concatenate([*a, *b]))
    if len(cuts) < 2:
        return cuts[:0], cuts[:0]
    start, end = cuts[:-1], cuts[1:]
    both = (covered(start, end, a) > 0.5) & (covered(start, end, b) > 0.5)
    return union(start[both], end[both])


def weighted_median(values: NDArray[np.int64] | Floats, weights: NDArray[np.int64] | Floats) -> float:
    """Return the value at half of the weight; 0 without weight."""
    return at_share(values, weights, 0.5) if len(values) else 0.0


def active(start: Ints, end: Ints, weight: Ints) -> Union:
    """Compute the union of intervals in order of start; gaps of at most a quarter of their weighted median length are
    closed.
    """
    return union(start, end, close=weighted_median(end - start, weight) / 4)


@compiled
def at_share(values: NDArray[Any], weights: NDArray[Any], share: float) -> float:
    """Find the first of at least one value, in ascending order, by which a share of the weight is reached.

    Bisection: values on the wrong side of each guess are dropped.
    """
    left, load = values.copy(), weights.copy()
    goal, below, n = weights.sum() * share, weights[0] * 0, len(values)
    guess = left[0]
    while n > 0:
        guess = max(min(left[0], left[n // 2]), min(max(left[0], left[n // 2]), left[n - 1]))
        less, same, low = below, below * 0, 0
        for i in range(n):  # no branches: they are unpredictable
            less += load[i] * (left[i] < guess)
            same += load[i] * (left[i] == guess)
            low += left[i] < guess
        if low > 0 and less < goal and less + same >= goal:
            break
        if low == 0 and below + same >= goal:
            break
        down, kept = low > 0 and less >= goal, 0
        for i in range(n):
            value, weight = left[i], load[i]
            left[kept], load[kept] = value, weight
            kept += value < guess if down else value > guess
        below, n = below if down else less + same, kept
    return float(guess)
