"""Join clusters to jobs: clusters in lockstep, and clusters between which a ring continues inside hosts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from networkx.utils import UnionFind

from prism.evidence.constants import OPEN
from prism.jobs import constants as c
from prism.jobs.cluster_periods import ClusterRhythm, in_step
from prism.jobs.clusters import Members, cluster_numbers
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried

Pair = tuple[int, int]


def in_lockstep(
    clusters: Sequence[Members],
    rhythms: Sequence[ClusterRhythm],
    host: Ints | None,
    joined_pairs: Sequence[Pair],
    owner: Sequence[int] | None = None,
) -> list[Pair]:
    """Return pairs of clusters that belong to one job: `joined_pairs`, and pairs in lockstep.

    `host`: host of each endpoint, −1 if unknown. Only clusters that share a host are compared. Without hosts, each cluster is
    compared with one cluster of each job. `owner`: hinted job of each cluster, −1 if none. Clusters of two hinted jobs stay
    apart. Clusters of one are joined unless clear step marks contradict.
    """
    found = UnionFind(range(len(clusters)))
    out = list(joined_pairs)
    for one, other in joined_pairs:
        found.union(one, other)
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


def through_hosts(clusters: Sequence[Members], steady: Carried, host: Ints) -> list[Pair]:
    """Return pairs of clusters between which a ring continues inside hosts: octets enter in one cluster and leave in the other.

    Two clusters are joined if their surpluses at a host cancel and no other pair's surpluses there do.
    """
    home = cluster_numbers(clusters, len(host))
    own = (home[steady.src] == home[steady.dst]) & (home[steady.src] >= 0)
    src, dst, volume = steady.src[own], steady.dst[own], steady.volume[own].astype(np.float64)
    enters, leaves = (np.bincount(ends, volume, len(host)) for ends in (dst, src))
    surplus: dict[Pair, float] = defaultdict(float)
    moved: dict[Pair, float] = defaultdict(float)
    for end in np.flatnonzero((home >= 0) & (host >= 0)).tolist():
        surplus[int(host[end]), int(home[end])] += float(enters[end] - leaves[end])
        moved[int(host[end]), int(home[end])] += float(enters[end] + leaves[end])
    at: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for (where, cluster), extra in surplus.items():
        if abs(extra) > OPEN * moved[where, cluster]:
            at[where].append((extra, cluster))
    votes: dict[Pair, int] = defaultdict(int)
    for extras in at.values():
        matches = [
            (min(i, j), max(i, j)) for a, i in extras for b, j in extras if a > 0 > b and abs(a + b) <= c.EQUAL * (a - b)
        ]
        taken = [i for pair in matches for i in pair]
        for pair in matches:
            votes[pair] += all(taken.count(i) == 1 for i in pair)
    return [pair for pair, count in votes.items() if count]
