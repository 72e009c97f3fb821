"""Octets per edge over complete steps; partial first and last steps are dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism.loops.arrays.edges import Edge
from prism.loops.arrays.intervals import union


def at_rests(edges: Sequence[Sequence[Edge]], *, share: float = 0.5) -> NDArray[np.int64]:
    """Octets that each set of edges had moved at the times when all of them were idle for long, since the first such time;
    int64[times, sets].

    Long means at least the `share` of their third longest idle time: a job may have hung once or twice.
    """
    every = [edge for own in edges for edge in own]
    begin, end = union(*(np.concatenate([getattr(edge, name) for edge in every]) for name in ("start", "end")))
    rest = begin[1:] - end[:-1]
    if not len(rest):
        return np.zeros((0, len(edges)), np.int64)
    times = begin[1:][rest >= share * np.sort(rest)[-min(3, len(rest))]]
    moved = np.stack([np.sum([_by(edge, times) for edge in own], axis=0) for own in edges], axis=1)
    return np.asarray(moved[1:] - moved[0], dtype=np.int64)


def _by(edge: Edge, times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Octets of the records that began before each of some times."""
    return np.append(0, np.cumsum(edge.octets))[np.searchsorted(edge.start, times)]
