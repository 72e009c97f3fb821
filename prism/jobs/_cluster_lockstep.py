"""Join clusters to jobs: clusters in lockstep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from networkx.utils import UnionFind

from prism.jobs import constants as c
from prism.jobs.cluster_periods import ClusterRhythm, in_step
from prism.jobs.clusters import Members
from prism.loops.arrays.intervals import Ints

Pair = tuple[int, int]


def in_lockstep(
    clusters: Sequence[Members],
    rhythms: Sequence[ClusterRhythm],
    host: Ints | None,
    owner: Sequence[int] | None = None,
) -> list[Pair]:
    """Return pairs of clusters that belong to one job.

    `host`: host of each endpoint, −1 if unknown. Only clusters that share a host are compared. Without hosts, each cluster is
    compared with one cluster of each job. `owner`: hinted job of each cluster, −1 if none. Clusters of two hinted jobs stay
    apart. Clusters of one are joined unless clear step marks contradict.
    """
    found = UnionFind(range(len(clusters)))
    out = list[Pair]()
    pairs = _nearest(rhythms, found) if host is None else _on_shared_hosts(clusters, host)

    def same_job(i: int, j: int) -> bool:
        one, other = rhythms[i], rhythms[j]
        hinted = owner is not None and min(owner[i], owner[j]) >= 0
        if hinted and owner is not None and owner[i] != owner[j]:
            return False
        return (hinted and min(one.regularity, other.regularity) < c.LOCKED) or in_step(one, other)

    for i, j in pairs:
        if found[i] != found[j] and same_job(i, j):
            found.union(i, j)
            out.append((i, j))
    return out


def _on_shared_hosts(clusters: Sequence[Members], host: Ints) -> Iterable[Pair]:
    """Return the pairs of clusters that share a host, each once."""
    at: dict[int, list[int]] = defaultdict(list)
    for i, members in enumerate(clusters):
        for own in np.unique(host[list(members)]).tolist():
            if own >= 0:
                at[own].append(i)
    return dict.fromkeys(pair for sharing in {tuple(own) for own in at.values()} for pair in combinations(sharing, 2))


def _nearest(rhythms: Sequence[ClusterRhythm], found: Any) -> Iterator[Pair]:
    """Yield each cluster with the first cluster of each job `found` so far, those of similar period first."""
    frequency = [1 / own.period if own.period else 0.0 for own in rhythms]
    firsts: list[int] = []
    for i in sorted(range(len(rhythms)), key=lambda i: (-rhythms[i].regularity, i)):
        for j in sorted(firsts, key=lambda j, i=i: abs(frequency[i] - frequency[j])):  # type: ignore[misc]
            yield j, i
            if found[i] == found[j]:
                break
        else:
            firsts.append(i)
