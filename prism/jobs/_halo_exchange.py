"""Detect exchanges without a reduction: halo exchange between neighbours of a grid, or transposition between all.

In each step of training, results of one rank reach all others through sums. If every pair exchanges only one burst in a step,
they cannot: a border reaches only the neighbour, and a sum over a clique takes two bursts, one to reduce and one to gather.
Halving, doubling and trees also exchange one burst per pair, but one after the other, so that results reach all. Scalars, which
solvers sum as well, do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.evidence.constants import NEW_RUN_GAP
from prism.jobs import constants as c
from prism.jobs.cluster_periods import ClusterRhythm, longest_pause
from prism.jobs.clusters import Members, components
from prism.loops.arrays.edges import Edge, edges_of
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried


def only_exchanges(flows: Flows, clusters: Sequence[Members], rhythms: Sequence[ClusterRhythm], steady: Carried) -> bool:
    """Check whether the clusters of one candidate exchange messages and never sum them: most octets of the largest clusters."""
    largest = sorted(range(len(clusters)), key=lambda i: -len(clusters[i]))[: c.SAMPLED_PAIRS]
    judged = [(sum(edge.volume for edge in rhythms[i].edges), i) for i in largest if len(clusters[i]) > c.SMALL_GROUP]
    left = whole = sum(volume for volume, _ in judged)
    exchanged = 0
    for volume, i in judged:
        if 2 * exchanged > whole or 2 * (exchanged + left) <= whole:  # the others do not change the answer
            break
        left -= volume
        exchanged += volume * _exchanges(flows, clusters[i], rhythms[i], steady)
    return 2 * exchanged > whole


def _exchanges(flows: Flows, members: Members, rhythm: ClusterRhythm, steady: Carried) -> bool:
    """Check whether one cluster exchanges messages and never sums them."""
    partners_of = _partners(steady, members) if _exchanges_once(rhythm) else None
    if partners_of is None:
        return False
    return _triangles(partners_of) or _reached(flows, steady, partners_of, rhythm.marks) < 1 - c.CONSTANT / 2


def _exchanges_once(rhythm: ClusterRhythm) -> bool:
    """Check whether steps follow each other without gaps and hold one burst of most edges.

    A record over a large part of a step may hold several bursts.
    """
    if len(rhythm.marks) <= c.MIN_STEPS:
        return False
    if rhythm.period * len(rhythm.marks) <= (1 - c.CONSTANT) * float(np.ptp(rhythm.times)):
        return False
    bursts = list[float]()
    for edge in rhythm.edges:
        if np.median(edge.end - edge.start) > c.CONSTANT * rhythm.period:
            return False
        bursts.append(float(np.median(np.diff(np.searchsorted(_bursts(edge, rhythm.period), rhythm.marks)))))
        if bursts[-1] > 2:
            return False
    return float(np.median(bursts)) <= 1


def _bursts(edge: Edge, period: float) -> Ints:
    """Start of each burst of an edge, ns, without its smallest messages, which carry few of its octets."""
    ascending = np.sort(edge.octets)
    heavy = edge.only(edge.octets >= ascending[np.searchsorted(np.cumsum(ascending), c.EQUAL * edge.volume)])
    silent = heavy.start[1:] - np.maximum.accumulate(heavy.end)[:-1] > NEW_RUN_GAP * period
    return np.asarray(heavy.start[np.concatenate([[True], silent])], np.int64)


def _partners(steady: Carried, members: Members) -> dict[int, set[int]] | None:
    """Return the partners of each member; None if much traffic goes in one direction."""
    own = np.isin(steady.src, list(members)) & np.isin(steady.dst, list(members))
    volume = {(s, d): v for s, d, v in zip(*(x[own].tolist() for x in (steady.src, steady.dst, steady.volume)), strict=True)}
    usual = float(np.median(list(volume.values())))
    partners_of: dict[int, set[int]] = defaultdict(set)
    both = 0
    for (one, other), octets in volume.items():
        back = volume.get((other, one), 0)
        both += octets if octets / 2 <= back <= 2 * octets else 0
        if octets > c.CONSTANT * usual:
            partners_of[one].add(other)
            partners_of[other].add(one)
    return partners_of if both > (1 - 2 * c.CONSTANT) * sum(volume.values()) else None


def _triangles(partners_of: dict[int, set[int]]) -> bool:
    """Check whether a member's partners are mostly partners of each other: cliques, or rows and columns of a matrix."""
    closed = sum(any(partners_of[other] & own for other in own) for own in partners_of.values())
    return 2 * closed > len(partners_of)


def _reached(flows: Flows, steady: Carried, partners_of: dict[int, set[int]], marks: Ints) -> float:
    """Median share of the members joined by payload that results of one member reach in one step, over some steps.

    A burst carries what its sender had when it began, and it arrives from its first octet on.
    """
    inside = np.isin(steady.src, list(partners_of)) & np.isin(steady.dst, list(partners_of))
    edges = [edge for edge in edges_of(flows, steady.rows(inside)).values() if edge.dst in partners_of[edge.src]]
    src, dst = np.array([edge.key for edge in edges], np.int64).T
    joined = components(src, dst, len(flows.endpoints))
    most = sum(len(own) ** 2 for own in joined)
    period = float(np.median(np.diff(marks)))
    begins = [_bursts(edge, period) for edge in edges]
    start, number = np.concatenate(begins), np.repeat(np.arange(len(edges)), list(map(len, begins)))
    place = np.interp(start, marks, np.arange(float(len(marks))))
    step, shares = np.floor(place - longest_pause(place % 1)), list[float]()
    for k in np.unique(np.linspace(1, len(marks) - 3, c.SAMPLED_PAIRS).astype(np.int64)).tolist():
        own = np.flatnonzero(step == k)
        own = own[np.argsort(start[own], kind="stable")]
        if len(own) > c.FOLLOWED_RECORDS:
            return 1.0
        shares.append(_reaching([edges[i].key for i in number[own].tolist()], start[own], partners_of) / most)
    return float(np.median(shares))


def _reaching(bursts: Sequence[tuple[int, int]], start: Ints, members: Collection[int]) -> int:
    """Count the pairs of members of which results of one reach the other by bursts in order of start.

    Bursts that start at once carry nothing new.
    """
    had = {member: 1 << i for i, member in enumerate(members)}
    now, latest = dict(had), -1
    for (src, dst), begin in zip(bursts, start.tolist(), strict=True):
        if begin > latest:
            had, latest = dict(now), begin
        now[dst] |= had[src]
    return sum(own.bit_count() for own in now.values())
