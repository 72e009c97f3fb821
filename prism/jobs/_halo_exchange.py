"""Detect exchanges without a reduction: halo exchange between neighbours of a grid, or transposition between all.

In each step of training, results of one rank reach all others through sums. If every pair exchanges only one message in a step,
they cannot: a border reaches only the neighbour, and a sum over a clique takes two messages, one to reduce and one to gather.
Halving, doubling and trees also exchange one message per pair, but one after the other, so that results reach all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.jobs import constants as c
from prism.jobs.cluster_periods import ClusterRhythm
from prism.jobs.clusters import Members
from prism.loops.arrays.edges import sending
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried


def only_exchanges(flows: Flows, clusters: Sequence[Members], rhythms: Sequence[ClusterRhythm], steady: Carried) -> bool:
    """Check whether the clusters of one candidate exchange messages and never sum them."""
    largest = max(range(len(clusters)), key=lambda i: len(clusters[i]))
    rhythm, members = rhythms[largest], clusters[largest]
    if len(members) <= c.MIN_STEPS + 1 or not _exchanges_once(rhythm):
        return False
    partners_of = _partners(steady, members)
    if partners_of is None:
        return False
    return _triangles(partners_of) or _reached(flows, members, partners_of, rhythm.marks) < 1 - c.CONSTANT


def _exchanges_once(rhythm: ClusterRhythm) -> bool:
    """Check whether steps follow each other without gaps and hold one message of most edges."""
    if len(rhythm.marks) <= c.MIN_STEPS:
        return False
    counts = list[float]()
    for edge in rhythm.edges:
        counts.append(float(np.median(np.diff(np.searchsorted(edge.start, rhythm.marks)))))
        if counts[-1] > 2:
            return False
    duration = float(np.median(np.diff(rhythm.marks))) * len(rhythm.marks)
    return float(np.median(counts)) <= 1 and duration > (1 - c.CONSTANT) * float(np.ptp(rhythm.times))


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


def _reached(flows: Flows, members: Members, partners_of: dict[int, set[int]], marks: Ints) -> float:
    """Largest share of members that results of one member reach in one step, over three steps."""
    sent = sending(flows)
    inside = np.zeros(len(flows.endpoints), np.bool_)
    inside[list(members)] = True
    best = 0.0
    for k in {len(marks) // 4, len(marks) // 2, 3 * len(marks) // 4}:
        if k + 1 < len(marks):
            rows = np.flatnonzero((sent >= marks[k]) & (sent < marks[k + 1]) & inside[flows.src] & inside[flows.dst])
            rows = rows[~flows.control()[rows]]
            if len(rows) > c.FOLLOWED_RECORDS:
                return 1.0
            best = max(best, _spread(flows, sent, rows, partners_of))
    return best


def _spread(flows: Flows, sent: Ints, rows: Ints, partners_of: dict[int, set[int]]) -> float:
    """Share of members that results of one member reach in one step. A record carries what its sender had when it began."""
    moments = np.concatenate([flows.end_ns[rows], sent[rows]])
    order = np.lexsort((np.arange(len(moments)), moments))  # arrivals before departures at the same time
    reached_by = {member: 1 << i for i, member in enumerate(partners_of)}
    carries: dict[int, int] = {}
    src, dst = flows.src[rows].tolist(), flows.dst[rows].tolist()
    for event in order.tolist():
        if event >= len(rows):
            carries[event - len(rows)] = reached_by.get(src[event - len(rows)], 0)
        elif event in carries and dst[event] in reached_by:
            reached_by[dst[event]] |= carries[event]
    return sum(own.bit_count() for own in reached_by.values()) / max(len(reached_by), 1) ** 2
