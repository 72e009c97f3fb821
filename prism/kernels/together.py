"""Whether beats between two longer ones are the parts of one step, or each a step of its own.

Parts share what their step does: they take longer together, or differ by their place in it, forward or backward. Steps of their
own each take their time, whatever comes after so many of them: an evaluation, a checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.kernels.intervals import Floats


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
        if self.length.shape[1] < 4:
            return False
        usual = np.median(self.length, axis=0)
        apart = 3 * (1 + 4 / len(self.length)) * np.median(np.abs(self.length - usual))
        return bool(np.ptp(np.sort(usual)[1:-1]) > apart)

    def _across(self) -> tuple[float, float]:
        """How often neighbours of two groups differ more than neighbours of one, less a half, which is that of chance; and by
        how much chance alone lets it vary (Mann and Whitney 1947).

        Neighbours, for a slow rank stretches some beats on end, whatever groups they are of.
        """
        if min(self.length.shape) < 2:
            return 0.0, 1.0
        within = np.sort(np.abs(np.diff(self.length, axis=1)), axis=None)
        across = np.abs(self.length[1:, 0] - self.length[:-1, -1])
        less = (np.searchsorted(within, across, "left") + np.searchsorted(within, across, "right")) / 2
        n, m = len(within), len(across)
        return float(less.mean()) / n - 0.5, float(np.sqrt((n + m + 1) / (12 * n * m)))

    def of_one_step(self, *, clear: float = 0.2, chance: float = 2.5) -> bool:
        """Whether they differ less within a group than from one to the next, beyond chance, or by their place."""
        more, varies = self._across()
        return more > max(clear, chance * varies) or self.by_place

    def of_their_own(self, *, least: int = 4, chance: float = 1.5, uneven: float = 0.3) -> bool:
        """Whether they differ within at least so many groups as much as from one to the next, not by their place, and little:
        what differs by more than `uneven` from its neighbours is no step.
        """
        if self.length.shape[0] < least or self.length.shape[1] < 2 or self.by_place:
            return False
        more, varies = self._across()
        return more < chance * varies and bool(np.median(np.abs(np.diff(self.length, axis=1))) <= uneven)

    def may_be_buckets(self, *, shortest: float = 0.25) -> bool:
        """Whether the longest beat may be one of so many buckets of a backward pass, and a forward pass: that takes half as
        long as a backward pass, or `shortest`, and in a pipeline for all its micro-batches.
        """
        if not self.length.size:
            return True
        more = float(np.exp(np.median(self.longest) - np.median(self.length))) - 1
        return bool(more >= shortest * (self.length.shape[1] + 1))


def inner(beats: NDArray[Any], last: NDArray[np.bool_]) -> Inner:
    """Those of some lengths of beats that are not the longest of a group, of the groups that have as many as most.

    `beats`, ns, are those after each of some ends, of which the `last` of each group are followed by the longest.
    """
    places = np.flatnonzero(last)
    size = np.diff(places)
    if not len(size):
        return Inner(np.zeros((0, 0)), np.zeros(0))
    usual = int(np.bincount(size).argmax())
    begins = places[:-1][size == usual]
    every = np.log(np.maximum(beats[begins[:, None] + np.arange(usual)], 1).astype(np.float64))
    return Inner(every[:, 1:], every[:, 0])
