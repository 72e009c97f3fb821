"""Operate on sets of time intervals: union, closing of gaps, and coverage of one by another.

A set is a pair of int64[n] arrays, start and end in ns, sorted and disjoint if a function requires a *union*.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import distinct
from prism.loops.arrays.medians import ascending, in_order

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
    return closed(start, end, close)


@compiled
def closed(start: Ints, end: Ints, close: float) -> Union:
    """Compute the `union` of at least one interval in order of start."""
    first, last = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    n, reach = 0, end[0]
    first[0] = start[0]
    for i in range(1, len(start)):
        if start[i] - reach > close:
            last[n] = reach
            n += 1
            first[n] = start[i]
        reach = max(reach, end[i])
    last[n] = reach
    return first[: n + 1].copy(), last[: n + 1].copy()


def covered(start: Ints, end: Ints, within: Union) -> Floats:
    """Share 0 … 1 of each interval that is covered by a union; an instant is covered fully or not at all."""
    return _covered(start, end, *within)


@compiled
def _lengths(times: Ints, first: Ints, last: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Length of a union before each time, and whether the time is in it, including its ends."""
    total = np.zeros(len(first) + 1, np.int64)
    for k in range(len(first)):
        total[k + 1] = total[k] + last[k] - first[k]
    length, inside, k = np.zeros(len(times), np.int64), np.zeros(len(times), np.bool_), -1
    for i in range(len(times)):
        if k + 1 < len(first) and first[k + 1] <= times[i]:
            k += 1  # times are nearly ordered: usually the interval is that of the time before, or the next
        if (k >= 0 and first[k] > times[i]) or (k + 1 < len(first) and first[k + 1] <= times[i]):
            k = np.searchsorted(first, times[i], side="right") - 1
        if k >= 0:
            length[i] = total[k] + min(times[i], last[k]) - first[k]
            inside[i] = times[i] <= last[k]
    return length, inside


@compiled
def _covered(start: Ints, end: Ints, first: Ints, last: Ints) -> Floats:
    before, inside = _lengths(start, first, last)
    until, _ = _lengths(end, first, last)
    share = np.zeros(len(start))
    for i in range(len(start)):
        if end[i] > start[i]:
            share[i] = (until[i] - before[i]) / (end[i] - start[i])
        elif inside[i]:
            share[i] = 1.0
    return share


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
    return at_half(values, weights) if len(values) else 0.0


def active(start: Ints, end: Ints, weight: Ints) -> Union:
    """Compute the union of intervals in order of start; gaps of at most a quarter of their weighted median length are
    closed.
    """
    return _active(start, end, weight) if len(start) else (start, end)


@compiled
def _active(start: Ints, end: Ints, weight: Ints) -> Union:
    return closed(start, end, at_half(end - start, weight) / 4)


@compiled
def at_half(values: NDArray[Any], weights: NDArray[Any]) -> float:
    """Compute `weighted_median` of at least one value, by bisection: values on the wrong side of each guess are dropped."""
    left, load = values.copy(), weights.copy()
    half, below, n = weights.sum() / 2, weights[0] * 0, len(values)
    guess = left[0]
    while n > 0:
        guess = max(min(left[0], left[n // 2]), min(max(left[0], left[n // 2]), left[n - 1]))
        less, same, low = below, below * 0, 0
        for i in range(n):  # no branches: they are unpredictable
            less += load[i] * (left[i] < guess)
            same += load[i] * (left[i] == guess)
            low += left[i] < guess
        if low > 0 and less < half and less + same >= half:
            break
        if low == 0 and below + same >= half:
            break
        down, kept = low > 0 and less >= half, 0
        for i in range(n):
            value, weight = left[i], load[i]
            left[kept], load[kept] = value, weight
            kept += value < guess if down else value > guess
        below, n = below if down else less + same, kept
    return float(guess)
