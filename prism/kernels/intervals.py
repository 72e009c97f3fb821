"""Sets of time intervals: union, closing of gaps, and how much of one lies within another.

A set is a pair of int64[n] arrays, start and end in ns, sorted and disjoint where a function says *union*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism.kernels.sums import distinct

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Union = tuple[Ints, Ints]


def union(start: Ints, end: Ints, *, close: float = 0.0) -> Union:
    """The union of intervals in any order; neighbours no further apart than `close` ns become one."""
    if len(start) == 0:
        return start[:0], end[:0]
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.r_[True, start[1:] - end[:-1] > close])
    return start[first], end[np.r_[first[1:] - 1, len(end) - 1]]


def length_before(times: Ints, within: Union) -> Ints:
    """Total length of the union `within` that lies before each time, ns."""
    start, end = within
    if len(start) == 0:
        return np.zeros(len(times), np.int64)
    total = np.r_[0, np.cumsum(end - start)]
    k = np.searchsorted(start, times, "right")
    last = np.maximum(k - 1, 0)
    inside = np.minimum(times, end[last]) - start[last]
    return np.where(k > 0, total[last] + inside, 0)


def covered(start: Ints, end: Ints, within: Union) -> Floats:
    """Share 0 … 1 of each interval that lies within a union; an instant lies within wholly or not at all."""
    if len(within[0]) == 0:
        return np.zeros(len(start))
    part = length_before(end, within) - length_before(start, within)
    k = np.searchsorted(within[0], start, "right") - 1
    instant = (k >= 0) & (start <= within[1][np.maximum(k, 0)])
    share: Floats = np.where(end > start, part / np.maximum(end - start, 1), instant)
    return share


def intersection(a: Union, b: Union) -> Union:
    """Intersection of two unions, again a union."""
    cuts = distinct(np.concatenate([*a, *b]))
    if len(cuts) < 2:
        return cuts[:0], cuts[:0]
    start, end = cuts[:-1], cuts[1:]
    both = (covered(start, end, a) > 0.5) & (covered(start, end, b) > 0.5)
    return union(start[both], end[both])


def weighted_median(values: NDArray[np.int64] | Floats, weights: NDArray[np.int64] | Floats) -> float:
    """The value at which half of the weight lies below; 0 where there is no weight."""
    if len(values) == 0:
        return 0.0
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][min(np.searchsorted(total, total[-1] / 2), len(values) - 1)])


def beat(a: Union, b: Union, *, shifts: int = 24) -> float:
    """How far two unions coincide beyond chance: 1 always, 0 as two strangers would.

    Chance is measured: the mean coincidence when one is shifted by fractions of their common time.
    """
    low, high = max(int(a[0][0]), int(b[0][0])), min(int(a[1][-1]), int(b[1][-1]))
    if high <= low:
        return 0.0
    span = high - low
    golden = 0.6180339887498949  # shifts that share no rhythm with one another
    moved = [int(span * (0.02 + 0.2 * ((i * golden) % 1.0))) for i in range(1, shifts + 1)]
    chance = float(np.mean([_coincidence(a, (b[0] + by, b[1] + by)) for by in moved]))
    seen = _coincidence(a, b)
    return (seen - chance) / max(1.0 - chance, 1e-9)


def _coincidence(a: Union, b: Union) -> float:
    """The lesser share of one union that lies within the other, in their common time."""
    low, high = max(a[0][0], b[0][0]), min(a[1][-1], b[1][-1])
    shares = []
    for x, y in ((a, b), (b, a)):
        inside = (x[0] >= low) & (x[1] <= high)
        weight = np.maximum(x[1][inside] - x[0][inside], 1)
        shares.append(float(np.average(covered(x[0][inside], x[1][inside], y), weights=weight)) if inside.any() else 0.0)
    return min(shares)
