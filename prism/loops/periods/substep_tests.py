"""Check whether intervals between two longer ones are parts of one step, or steps of their own.

Parts share the work of their step: they are slow together, or differ by position (forward or backward). Steps have independent
durations, whatever follows after a number of them: an evaluation, a checkpoint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Floats
from prism.loops.arrays.medians import median


@compiled
def own_time(beats: Ints, last: Mask, unlikely: bool) -> bool:
    """Check whether intervals (`inner`) have independent durations instead of being parts of a step; if that is not
    `unlikely` anyway, they must also not be parts of a backward pass.
    """
    every = np.log(np.maximum(_groups(beats, last), 1).astype(np.float64))
    length = every[:, 1:].copy()
    return of_their_own(length) and (unlikely or not may_be_buckets(length, every[:, 0].copy()))


@compiled
def _groups(beats: Ints, last: Mask) -> NDArray[np.int64]:
    """Durations of the groups with the most frequent number of intervals, int64[groups, places], the longest first."""
    places = np.flatnonzero(last)
    if len(places) < 2:
        return np.zeros((0, 1), np.int64)
    size = places[1:] - places[:-1]
    usual = np.bincount(size).argmax()
    out, n = np.empty((np.count_nonzero(size == usual), usual), np.int64), 0
    for k in range(len(size)):
        if size[k] == usual:
            out[n] = beats[places[k] : places[k] + usual]
            n += 1
    return out


@compiled
def _by_place(length: Floats) -> bool:
    """Compute `Inner.by_place`."""
    groups, places = length.shape
    if places < 4:
        return False
    usual, off = np.empty(places), np.empty((groups, places))
    for k in range(places):
        usual[k] = median(length[:, k])
        off[:, k] = np.abs(length[:, k] - usual[k])
    usual = np.sort(usual)
    return bool(usual[-2] - usual[1] > 3 * (1 + 4 / groups) * median(off.ravel()))


@compiled
def _across(length: Floats) -> tuple[float, float]:
    """Share of neighbours from two groups that differ more than neighbours in one, minus the expected half; and its standard
    deviation by chance (Mann and Whitney 1947).

    Neighbours are compared, because a slow rank stretches consecutive intervals, whatever their groups.
    """
    if min(length.shape) < 2:
        return 0.0, 1.0
    within = np.sort(_apart(length))
    across = np.abs(length[1:, 0] - length[:-1, -1])
    n, m = len(within), len(across)
    less = (np.searchsorted(within, across).sum() + np.searchsorted(within, across, "right").sum()) / 2
    return less / m / n - 0.5, np.sqrt((n + m + 1) / (12 * n * m))


@compiled
def of_their_own(length: Floats, least: int = 4, chance: float = 1.5, uneven: float = 0.3) -> bool:
    """Check whether intervals (`Inner`) differ within at least `least` groups as much as between them, not by position, and
    little: a difference of more than `uneven` from neighbours is no step.
    """
    if length.shape[0] < least or length.shape[1] < 2 or _by_place(length):
        return False
    more, varies = _across(length)
    return bool(more < chance * varies and median(_apart(length)) <= uneven)


@compiled
def may_be_buckets(length: Floats, longest: Floats, shortest: float = 0.25) -> bool:
    """Check whether the longest interval may be one bucket of a backward pass plus a forward pass.

    A forward pass takes half as long as a backward pass, or `shortest`, and in a pipeline it covers all micro-batches.
    """
    if not length.size:
        return True
    more = np.exp(median(longest) - median(length.ravel())) - 1
    return bool(more >= shortest * (length.shape[1] + 1))


@compiled
def _apart(length: Floats) -> Floats:
    """Differences of neighbours in one group."""
    return np.abs(length[:, 1:] - length[:, :-1]).ravel()
