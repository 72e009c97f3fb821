"""What edges moved in whole steps: records may begin and end in the middle of one, of which some moved more than others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism.loops.arrays.edges import Edge
from prism.loops.arrays.intervals import union


def at_rests(edges: Sequence[Sequence[Edge]], *, share: float = 0.5) -> NDArray[np.int64]:
    """Octets that each of some sets of edges had moved by the times at which all of them rested for long, since the first of
    these; int64[times, sets].

    Long is at least the `share` of their third longest rest: a job may have stood still once or twice.
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
