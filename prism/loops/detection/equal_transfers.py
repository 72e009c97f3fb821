"""Detect transfers of equal size: a stream that stops within one waits for its receiver.

A sender may send some octets before the receiver is ready (a window, the slots of a buffer), and the rest afterwards. So octets
between two rests are a transfer, its first part, or its remainder.
"""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Mask
from prism.loops import constants as c
from prism.loops.arrays.intervals import Floats, Ints


def rested(begin: Ints, end: Ints) -> Mask:
    """Mask: whether a stream rested before each record for longer than the median duration of one; records sorted by begin."""
    out = np.zeros(len(begin), np.bool_)
    if len(begin):
        out[1:] = begin[1:] - np.maximum.accumulate(end)[:-1] > np.median(end - begin)
    return out


def unit_of(octets: Floats, rests: Mask, bounds: Ints) -> float:
    """Compute the octets of one of the equal transfers that steps consist of; 0 if they do not.

    A step is the records between two `bounds`, int64[n, 2]; `rests` marks rests before records. Most of the octet counts
    between rests must be a transfer or one of two unequal parts of one. Of the common sizes that divide a step it is the
    smallest.
    """
    steps = [(first, last) for first, last in bounds.tolist() if last - first > 1]
    if not steps:
        return 0.0
    cuts = [first + np.append(0, 1 + np.flatnonzero(rests[first + 1 : last])) for first, last in steps]
    runs = np.sort(np.concatenate([np.add.reduceat(octets[:last], at) for at, (_, last) in zip(cuts, steps, strict=True)]))
    total = float(np.median([octets[first:last].sum() for first, last in steps]))
    sizes = _common(runs)
    for size in sizes.tolist():
        times, other = total / max(size, 1.0), size - runs
        if round(times) < 2 or abs(times - round(times)) > c.WHOLE:
            continue
        near = c.SAME_SIZE * size
        parts = (np.abs(other[:, None] - sizes) <= near).any(axis=1) & (np.abs(other - runs) > near)
        if np.mean((np.abs(other) <= near) | parts) >= c.WHOLLY:
            return float(total / round(times))
    return 0.0


def _common(ordered: Floats) -> Floats:
    """The most common of ascending sizes, ascending; similar sizes count as their median."""
    sizes, counts, first = list[float](), list[int](), 0
    while first < len(ordered):
        last = int(np.searchsorted(ordered, ordered[first] * (1 + c.SAME_SIZE), "right"))
        sizes.append(float(np.median(ordered[first:last])))
        counts.append(last - first)
        first = last
    least = sorted(counts)[-c.SIZES] if len(counts) > c.SIZES else 0
    return np.array([size for size, count in zip(sizes, counts, strict=True) if count >= least])
