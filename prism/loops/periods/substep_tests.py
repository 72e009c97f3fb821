"""Whether beats between two longer ones are the parts of one step, or each a step of its own.

Parts share what their step does: they take longer together, or differ by their place in it, forward or backward. Steps of their
own each take their time, whatever comes after so many of them: an evaluation, a checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Floats
from prism.loops.arrays.medians import median


@dataclass(frozen=True, eq=False)
class Inner:
    """The lengths of beats, or of gaps in them, logarithms, float64[groups, places]: those of each group but its longest."""

    length: Floats
    longest: Floats  # those of each group that are the longest, float64[groups]

    @property
    def by_place(self) -> bool:
        """Whether beats differ by their place in a group, far more than those at one place do; one place may be like none.

        The fewer groups there are, the further chance takes the medians of places apart.
        """
        return bool(_by_place(self.length))

    def of_one_step(self, *, clear: float = 0.2, chance: float = 2.5) -> bool:
        """Whether they differ less within a group than from one to the next, beyond chance, or by their place."""
        more, varies = _across(self.length)
        return bool(more > max(clear, chance * varies) or self.by_place)


def inner(beats: NDArray[Any], last: NDArray[np.bool_]) -> Inner:
    """Those of some lengths of beats that are not the longest of a group, of the groups that have as many as most.

    `beats`, ns, are those after each of some ends, of which the `last` of each group are followed by the longest.
    """
    every = np.log(np.maximum(_groups(np.asarray(beats, np.int64), last), 1).astype(np.float64))
    return Inner(every[:, 1:].copy(), every[:, 0].copy())


@compiled
def own_time(beats: Ints, last: Mask, unlikely: bool) -> bool:
    """Whether beats (`inner`) each take their own time, rather than being parts of one step; where that is not `unlikely`
    anyway, they must also be none of a backward pass.
    """
    every = np.log(np.maximum(_groups(beats, last), 1).astype(np.float64))
    length = every[:, 1:].copy()
    return of_their_own(length) and (unlikely or not may_be_buckets(length, every[:, 0].copy()))


@compiled
def _groups(beats: Ints, last: Mask) -> NDArray[np.int64]:
    """The lengths of beats of the groups that have as many as most, int64[groups, places], the longest first."""
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
    """`Inner.by_place`."""
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
    """How often neighbours of two groups differ more than neighbours of one, less a half, which is that of chance; and by how
    much chance alone lets it vary (Mann and Whitney 1947).

    Neighbours, for a slow rank stretches some beats on end, whatever groups they are of.
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
    """Whether beats (`Inner`) differ within at least so many groups as much as from one to the next, not by their place, and
    little: what differs by more than `uneven` from its neighbours is no step.
    """
    if length.shape[0] < least or length.shape[1] < 2 or _by_place(length):
        return False
    more, varies = _across(length)
    return bool(more < chance * varies and median(_apart(length)) <= uneven)


@compiled
def may_be_buckets(length: Floats, longest: Floats, shortest: float = 0.25) -> bool:
    """Whether the longest beat may be one of so many buckets of a backward pass, and a forward pass: that takes half as long as
    a backward pass, or `shortest`, and in a pipeline for all its micro-batches.
    """
    if not length.size:
        return True
    more = np.exp(median(longest) - median(length.ravel())) - 1
    return bool(more >= shortest * (length.shape[1] + 1))


@compiled
def _apart(length: Floats) -> Floats:
    """By how much neighbours of one group differ."""
    return np.abs(length[:, 1:] - length[:, :-1]).ravel()
