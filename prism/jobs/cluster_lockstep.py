"""Join clusters to jobs: those that run in lockstep, and those between which a ring goes on inside hosts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from networkx.utils import UnionFind

from prism.jobs import constants as c
from prism.jobs.cluster_periods import VAGUE, Beat, locked
from prism.jobs.clusters import Members, homes
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried

Pair = tuple[int, int]


def in_lockstep(
    clusters: Sequence[Members],
    beats: Sequence[Beat],
    host: Ints | None,
    known: Sequence[Pair],
    owner: Sequence[int] | None = None,
) -> list[Pair]:
    """Pairs of clusters that are one job: the `known` ones, and those in lockstep.

    `host` is the host of each endpoint, -1 where unknown: only clusters that share one are compared. Without hosts all are,
    each with one cluster of each job, those of its own period first. `owner` is the job that the operator's hints say a cluster
    belongs to, -1 where they do not: clusters of two of these are two jobs, and those of one are one unless clear marks say no.
    """
    found = UnionFind(range(len(clusters)))
    out = list(known)
    for one, other in known:
        found.union(one, other)
    together = _Judge(beats, owner)
    if host is None:
        _among_all(beats, together, found, out)
        return out
    tried: set[Pair] = set()
    for sharing in _by_host(clusters, host):
        for k, i in enumerate(sharing):
            for j in sharing[k + 1 :]:
                if (i, j) not in tried and found[i] != found[j]:
                    tried.add((i, j))
                    if together(i, j):
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
    """Whether two clusters are one job, with what the operator's hints say of them."""

    def __init__(self, beats: Sequence[Beat], owner: Sequence[int] | None) -> None:
        self._beats, self._owner = beats, owner

    def __call__(self, i: int, j: int) -> bool:
        one, other = self._beats[i], self._beats[j]
        if self._owner is not None and min(self._owner[i], self._owner[j]) >= 0:
            if self._owner[i] != self._owner[j]:
                return False
            return min(one.quality, other.quality) < VAGUE or locked(one, other)
        return locked(one, other)


def _among_all(beats: Sequence[Beat], together: Callable[[int, int], bool], found: Any, out: list[Pair]) -> None:
    """Compare each cluster with the first of each job found so far."""
    period = np.array([float(np.median(np.diff(b.marks))) if len(b.marks) > 1 else np.inf for b in beats])
    firsts: list[int] = []
    for i in sorted(range(len(beats)), key=lambda i: (-beats[i].clear, i)):
        apart = {j: abs(np.log(period[i] / period[j])) if np.isfinite(period[[i, j]]).all() else np.inf for j in firsts}
        for j in sorted(firsts, key=lambda j: apart[j]):
            if found[i] != found[j] and together(i, j):
                found.union(i, j)
                out.append((j, i))
                break
        else:
            if all(found[i] != found[j] for j in firsts):
                firsts.append(i)


def through_hosts(clusters: Sequence[Members], steady: Carried, host: Ints) -> list[Pair]:
    """Pairs of clusters between which a ring goes on inside hosts: what enters a host in one cluster leaves it in the other.

    Two clusters are joined where at a host their surpluses cancel and those of no other two there do.
    """
    home = homes(clusters, len(host))
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
        if abs(extra) > c.OPEN * moved[where, cluster]:
            at[where].append((extra, cluster))
    votes: dict[Pair, int] = defaultdict(int)
    for extras in at.values():
        matches = [
            (min(i, j), max(i, j))
            for a, i in extras
            for b, j in extras
            if a > 0 > b and abs(a + b) <= 2 * c.EQUAL * (a - b) / 2
        ]
        taken = [i for pair in matches for i in pair]
        for pair in matches:
            votes[pair] += all(taken.count(i) == 1 for i in pair)
    return [pair for pair, count in votes.items() if count]
