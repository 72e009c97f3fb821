"""Detect exchanges without a reduction: halo exchange between neighbours of a grid, or transposition between all.

In each step of training, results of one rank reach all others through sums. A rank passes on what it received: in each step
it sends to the next rank after it received from the one before, message by message. Neighbours of a grid send first, and
who is late varies. Cliques take two bursts for a sum, one to reduce and one to gather; two ranks take two messages. Scalars,
which solvers sum as well, do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.evidence.constants import NEW_RUN_GAP
from prism.jobs import constants as c
from prism.jobs.cluster_periods import ClusterRhythm
from prism.jobs.clusters import Members, components
from prism.loops.arrays.edges import Edge, edges_of
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.pair_volumes import Carried

Partners = dict[int, set[int]]


def only_exchanges(flows: Flows, clusters: Sequence[Members], rhythms: Sequence[ClusterRhythm], steady: Carried) -> bool:
    """Check whether the clusters of one candidate exchange messages and never sum them: most octets of the largest clusters."""
    largest = sorted(range(len(clusters)), key=lambda i: -len(clusters[i]))[: c.SAMPLED_PAIRS]
    judged = [(sum(edge.volume for edge in rhythms[i].edges), i) for i in largest]
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
    per_step = _bursts_per_step(rhythm)
    partners_of = _partners(steady, members) if per_step else None
    if partners_of is None:
        return False
    if len(members) == 2:
        bursts = (_bursts(edge, rhythm.period) for edge in rhythm.edges)
        return per_step == 1 and all(len(heavy.rows) == len(begins) for heavy, begins in bursts)
    return per_step == 1 if _is_clique(partners_of) else not _adds_up(flows, steady, partners_of, rhythm, per_step > 1)


def _bursts_per_step(rhythm: ClusterRhythm) -> int:
    """Bursts of an edge in a step if steps follow each other without gaps and all edges have about equally many, else 0.

    A record over a large part of a step may hold several bursts.
    """
    if len(rhythm.marks) <= c.MIN_STEPS or rhythm.period * len(rhythm.marks) <= (1 - c.CONSTANT) * float(np.ptp(rhythm.times)):
        return 0
    counts = list[float]()
    for edge in rhythm.edges:
        counts.append(float(np.median(np.diff(np.searchsorted(_bursts(edge, rhythm.period)[1], rhythm.marks)))))
        if max(counts) > 2 * min(counts) or np.median(edge.end - edge.start) > c.CONSTANT * rhythm.period:
            return 0
    return int(np.median(counts))


def _bursts(edge: Edge, period: float) -> tuple[Edge, Ints]:
    """An edge without its smallest messages, which carry few of its octets, and the start of each of its bursts."""
    ascending = np.sort(edge.octets)
    heavy = edge.only(edge.octets >= ascending[np.searchsorted(np.cumsum(ascending), c.EQUAL * edge.volume)])
    silent = heavy.start[1:] - np.maximum.accumulate(heavy.end)[:-1] > NEW_RUN_GAP * period
    return heavy, np.asarray(heavy.start[np.concatenate([[True], silent])], np.int64)


def _partners(steady: Carried, members: Members) -> Partners | None:
    """Return the partners of each member; None if much traffic goes in one direction."""
    own = np.isin(steady.src, list(members)) & np.isin(steady.dst, list(members))
    volume = {(s, d): v for s, d, v in zip(*(x[own].tolist() for x in (steady.src, steady.dst, steady.volume)), strict=True)}
    usual = float(np.median(list(volume.values())))
    partners_of: Partners = defaultdict(set)
    both = 0
    for (one, other), octets in volume.items():
        back = volume.get((other, one), 0)
        both += octets if octets / 2 <= back <= 2 * octets else 0
        if octets > c.CONSTANT * usual:
            partners_of[one].add(other)
            partners_of[other].add(one)
    return partners_of if both > (1 - 2 * c.CONSTANT) * sum(volume.values()) else None


def _is_clique(partners_of: Partners) -> bool:
    """Check whether most partners have two partners or more in common: cliques, or rows and columns of a matrix."""
    common = [len(own & partners_of[other]) for own in partners_of.values() for other in own]
    return 2 * sum(count > 1 for count in common) > len(common)


def _adds_up(flows: Flows, steady: Carried, partners_of: Partners, rhythm: ClusterRhythm, several: bool) -> bool:
    """Check whether messages of a step are a sum: all edges end together, or results of each member reach the others.

    If steps have `several` bursts, each is a step of neighbours if they follow each other evenly.
    """
    inside = np.isin(steady.src, list(partners_of)) & np.isin(steady.dst, list(partners_of))
    edges = [edge for edge in edges_of(flows, steady.rows(inside)).values() if edge.dst in partners_of[edge.src]]
    leaving: dict[int, list[int]] = defaultdict(list)
    for i, edge in enumerate(edges):
        leaving[edge.src].append(i)
    if sum(len(leaving[edge.dst]) for edge in edges) > c.FOLLOWED_PAIRS:
        return True
    bursts = [_bursts(edge, rhythm.period) for edge in edges]
    bounds = _step_bounds([begins for _, begins in bursts], several=several)
    if bounds is None:
        return True
    sampled = np.unique(np.linspace(0, len(bounds) - 2, c.SAMPLED_PAIRS).astype(np.int64))
    begin, arrive, end = np.full((3, len(edges), len(sampled)), np.nan)
    for i, (heavy, _) in enumerate(bursts):
        places = np.searchsorted(heavy.start, bounds[np.add.outer((0, 1), sampled)])
        for k, (low, high) in enumerate(zip(*places.tolist(), strict=True)):
            if low < high:
                begin[i, k], arrive[i, k], end[i, k] = heavy.start[low], heavy.end[low:high].min(), heavy.end[low:high].max()
    if _spread(end) < c.LOCKED * _spread(begin):
        return True
    passes = {
        i: [j for j in leaving[edge.dst] if edges[j].dst != edge.src and np.mean(begin[j] >= arrive[i]) > c.STEADY]
        for i, edge in enumerate(edges)
    }
    return _reach(edges, leaving, passes, len(flows.endpoints)) > 1 - c.CONSTANT / 2


def _step_bounds(bursts: Sequence[Ints], *, several: bool) -> Ints | None:
    """Begins of all steps but the first: after the longest pauses of all edges; None if they do not follow evenly.

    Only where steps have `several` bursts are they compared. `bursts`: begins of those of each edge.
    """
    begins = np.sort(np.concatenate(bursts))
    count = int(np.quantile([len(own) for own in bursts], c.CONSTANT))  # who waits for others pauses
    bounds = begins[np.sort(np.argsort(-np.diff(begins))[: count - 1]) + 1]
    shortest, longest = np.quantile(np.diff(bounds), (c.CONSTANT, 1 - c.CONSTANT))
    return None if several and longest > 2 * shortest else bounds


def _reach(edges: Sequence[Edge], leaving: Mapping[int, list[int]], passes: Mapping[int, list[int]], ends: int) -> float:
    """Share of the members of its component that what a member sends reaches, on average.

    `leaving`: edges that leave each member; `passes`: edges on which what arrives by each goes on. `ends`: number of endpoints.
    """
    shares = list[float]()
    src, dst = np.array([edge.key for edge in edges], np.int64).T
    for together in components(src, dst, ends):
        for member in sorted(together)[:: -(-len(together) // c.SAMPLED_PAIRS)]:
            found, new = set[int](), set(leaving[member])
            while new:
                found |= new
                new = {j for i in new for j in passes[i]} - found
            shares.append(len({member, *dst[list(found)].tolist()}) / len(together))
    return float(np.mean(shares))


def _spread(times: Floats) -> float:
    """Mean deviation of edges' times from their usual time in a round; float[edges, rounds]."""
    within = times - np.nanmedian(times, 0)
    return float(np.nanmean(np.nanmedian(np.abs(within - np.nanmedian(within, 1)[:, None]), 1)))
