"""Detect transfers of equal size: a stream that stops within one waits for its receiver.

A sender may send some octets before the receiver is ready (a window, the slots of a buffer), and the rest afterwards. So octets
between two rests are a transfer, its first part, or its remainder.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.medians import median

NEAR = 0.005  # relative difference below which sizes are equal
SHARE = 0.02  # share of a transfer below which a part does not count
MOST, WHOLLY, WHOLE = (
    16,
    0.7,
    0.05,
)  # sizes to examine; share of octet counts that must be transfers; tolerance of their number per step


@compiled
def borders(begin: Ints, end: Ints, times: Ints, until: int, reach: float) -> Ints:
    """First record after each time, or after a rest within `reach` ns of it that is twice as long.

    The record of the first time begins before `until`.
    """
    rest, done = np.full(len(begin) + 1, reach), end[0] if len(end) else 0  # longer rests are equivalent
    for i in range(1, len(begin)):
        rest[i] = min(begin[i] - done, reach)
        done = max(done, end[i])
    out = np.empty(len(times), np.int64)
    for i in range(len(times)):
        at = out[i] = np.searchsorted(begin, times[i], "right")
        high = np.searchsorted(begin, times[i] + int(reach), "right")
        if i == 0:
            high = min(high, np.searchsorted(begin, until, "right"))
        for j in range(np.searchsorted(begin, times[i] - int(reach)), high):
            if rest[j] > max(2 * rest[at], rest[out[i]]):
                out[i] = j
    return out


@compiled
def rested(begin: Ints, end: Ints) -> Mask:
    """Mask: whether a stream rested before each record for longer than the median duration of one; records sorted by begin."""
    out = np.zeros(len(begin), np.bool_)
    wide = median(end - begin)
    done = end[0] if len(end) else 0
    for i in range(1, len(begin)):
        out[i] = begin[i] - done > wide
        done = max(done, end[i])
    return out


def unit_of(octets: NDArray[Any], rests: Mask, bounds: Ints) -> float:
    """Compute the octets of one of the equal transfers that steps consist of; 0 if they do not.

    A step is the records between two `bounds`, int64[n, 2]; `rests` marks rests before records. The share `WHOLLY` of the octet
    counts between rests must be a transfer or one of two unequal parts of one. Of the `MOST` common sizes that divide a step it
    is the smallest.
    """
    return _unit(octets, rests, bounds, MOST, WHOLLY, WHOLE)


@compiled
def _unit(octets: NDArray[Any], rests: Mask, bounds: Ints, most: int, share: float, whole: float) -> float:
    """`unit_of`; numba is slow to see which loop it is where arguments are left out."""
    runs, totals, n, steps = np.empty(len(octets) + len(bounds)), np.empty(len(bounds)), 0, 0
    for k in range(len(bounds)):
        first, last = bounds[k]
        if last - first < 2:
            continue
        totals[steps] = 0.0
        for i in range(first, last):
            if i == first or rests[i]:
                runs[n] = 0.0
                n += 1
            runs[n - 1] += octets[i]
            totals[steps] += octets[i]
        steps += 1
    if n == 0:
        return 0.0
    total, runs = median(totals[:steps]), np.sort(runs[:n])
    sizes = _common(runs, most)
    for size in sizes:
        times = total / max(size, 1.0)
        if round(times) < 2 or abs(times - round(times)) > whole:
            continue
        fit = 0
        for run in runs:
            other, alike = size - run, abs(size - run) <= NEAR * size
            for part in sizes:
                alike = alike or (abs(other - part) <= NEAR * size and abs(other - run) > NEAR * size)
            fit += alike
        if fit >= share * n:
            return float(total / round(times))
    return 0.0


@compiled
def _common(ordered: Floats, most: int) -> Floats:
    """The `most` common of ascending sizes, ascending; similar sizes count as their median."""
    size, count, n, first = np.empty(len(ordered)), np.empty(len(ordered), np.int64), 0, 0
    for i in range(1, len(ordered) + 1):
        if i == len(ordered) or ordered[i] > ordered[first] * (1 + NEAR):
            size[n], count[n] = median(ordered[first:i]), i - first
            n += 1
            first = i
    if n <= most:
        return size[:n].copy()
    often = count[:n] >= np.sort(count[:n])[n - most]
    return np.asarray(size[:n][often])
