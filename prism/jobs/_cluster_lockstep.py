"""Join clusters in lockstep to jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
from networkx.utils import UnionFind

from prism.jobs import constants as c
from prism.jobs.cluster_periods import ClusterRhythm, in_step
from prism.jobs.clusters import Members
from prism.loops.arrays.intervals import Ints

Pair = tuple[int, int]


def in_lockstep(
    clusters: Sequence[Members], rhythms: Sequence[ClusterRhythm], host: Ints | None, owner: Sequence[int] | None = None
) -> list[Pair]:
    """Return pairs of clusters in lockstep: they belong to one job.

    Parameters
    ----------
    clusters : sequence of frozenset
        Endpoint codes of each cluster.
    rhythms : sequence of ClusterRhythm
        One per cluster.
    host : int[endpoints] or None
        Host of each endpoint, −1 if unknown. Only clusters that share a host are compared. Without hosts, each cluster is
        compared with one cluster of each job, those of similar period first.
    owner : sequence of int or None
        Hinted job of each cluster, −1 if none. Clusters of two hinted jobs stay apart. Clusters of one are joined unless clear
        step marks contradict.

    Returns
    -------
    list of pair
    """
    found, same_job = UnionFind(range(len(clusters))), _Judge(rhythms, owner)
    if host is None:
        return _among_all(rhythms, same_job)
    out: list[Pair] = []
    tried: set[Pair] = set()
    for sharing in _by_host(clusters, host):
        for i, j in combinations(sharing, 2):
            if (i, j) not in tried and found[i] != found[j]:
                tried.add((i, j))
                if same_job(i, j):
                    found.union(i, j)
                    out.append((i, j))
    return out


def _by_host(clusters: Sequence[Members], host: Ints) -> Iterator[list[int]]:
    at: dict[int, list[int]] = defaultdict(list)
    for i, members in enumerate(clusters):
        for own in np.unique(host[list(members)]).tolist():
            if own >= 0:
                at[own].append(i)
    yield from {tuple(own): own for own in at.values()}.values()


class _Judge:
    """Decide whether two clusters belong to one job, with the operator's hints."""

    def __init__(self, rhythms: Sequence[ClusterRhythm], owner: Sequence[int] | None) -> None:
        self._beats, self._owner = rhythms, owner

    def __call__(self, i: int, j: int) -> bool:
        one, other = self._beats[i], self._beats[j]
        if self._owner is not None and min(self._owner[i], self._owner[j]) >= 0:
            if self._owner[i] != self._owner[j]:
                return False
            return min(one.regularity, other.regularity) < c.VAGUE_MARKS or in_step(one, other)
        return in_step(one, other)


def _among_all(rhythms: Sequence[ClusterRhythm], same_job: Callable[[int, int], bool]) -> list[Pair]:
    """Compare each cluster with the first cluster of each job found so far."""
    period = np.array([own.period or np.inf for own in rhythms])
    firsts, out = list[int](), list[Pair]()
    for i in sorted(range(len(rhythms)), key=lambda i: (-rhythms[i].regularity, i)):
        distance = {j: abs(np.log(period[i] / period[j])) if np.isfinite(period[[i, j]]).all() else np.inf for j in firsts}
        first = next((j for j in sorted(firsts, key=lambda j: distance[j]) if same_job(i, j)), None)
        if first is None:
            firsts.append(i)
        else:
            out.append((first, i))
    return out
