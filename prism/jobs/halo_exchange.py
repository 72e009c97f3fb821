"""Exchanges without a reduction: neighbours of a grid swap their borders (halo exchange), or all swap blocks (transposition).

In each step of training, what one rank has computed reaches all others, through sums. Where every pair swaps one message in a
step, it cannot: a border comes no further than the neighbour, and a sum over a clique takes two messages, one to reduce and
one to gather. Halving, doubling and trees also swap one message per pair, but one after the other, so that all is reached.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.jobs import constants as c
from prism.jobs.cluster_periods import Beat
from prism.jobs.clusters import Members
from prism.loops.arrays.edges import sending
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried

MOST_RECORDS = 20_000  # of one step that are followed, one by one; more than neighbours of 5,000 ranks swap


def only_exchanges(flows: Flows, clusters: Sequence[Members], beats: Sequence[Beat], steady: Carried) -> bool:
    """Whether clusters of one candidate swap messages and never add them up."""
    largest = max(range(len(clusters)), key=lambda i: (len(clusters[i]), beats[i].quality))
    beat, members = beats[largest], clusters[largest]
    if len(members) <= c.MIN_STEPS + 1 or not _swaps_once(beat):
        return False
    near = _partners(steady, members)
    if near is None:
        return False
    return _triangles(near) or _reached(flows, members, near, beat.marks) < 1 - c.CONSTANT


def _swaps_once(beat: Beat) -> bool:
    """Whether steps follow one another all the time and hold one message of most edges."""
    if len(beat.marks) <= c.MIN_STEPS:
        return False
    counts = [float(np.median(np.diff(np.searchsorted(edge.start, beat.marks)))) for edge in beat.edges]
    lasts = float(np.median(np.diff(beat.marks))) * len(beat.marks)
    return float(np.median(counts)) <= 1 and max(counts) <= 2 and lasts > (1 - c.CONSTANT) * float(np.ptp(beat.times))


def _partners(steady: Carried, members: Members) -> dict[int, set[int]] | None:
    """Who swaps with whom; None where much traffic goes one way."""
    own = np.isin(steady.src, list(members)) & np.isin(steady.dst, list(members))
    volume = {(s, d): v for s, d, v in zip(*(x[own].tolist() for x in (steady.src, steady.dst, steady.volume)), strict=True)}
    usual = float(np.median(list(volume.values())))
    near: dict[int, set[int]] = defaultdict(set)
    both = 0
    for (one, other), octets in volume.items():
        back = volume.get((other, one), 0)
        both += octets if octets / 2 <= back <= 2 * octets else 0
        if octets > c.CONSTANT * usual:
            near[one].add(other)
            near[other].add(one)
    return near if both > (1 - 2 * c.CONSTANT) * sum(volume.values()) else None


def _triangles(near: dict[int, set[int]]) -> bool:
    """Whether partners of one are mostly partners of some of its others: cliques, or rows and columns of a matrix."""
    closed = sum(any(near[other] & own for other in own) for own in near.values())
    return 2 * closed > len(near)


def _reached(flows: Flows, members: Members, near: dict[int, set[int]], marks: Ints) -> float:
    """To which share of the members what a member has computed comes in one step, the most of three steps."""
    sent = sending(flows)
    inside = np.zeros(len(flows.endpoints), np.bool_)
    inside[list(members)] = True
    best = 0.0
    for k in {len(marks) // 4, len(marks) // 2, 3 * len(marks) // 4}:
        if k + 1 < len(marks):
            rows = np.flatnonzero((sent >= marks[k]) & (sent < marks[k + 1]) & inside[flows.src] & inside[flows.dst])
            rows = rows[~flows.control()[rows]]
            if len(rows) > MOST_RECORDS:
                return 1.0
            best = max(best, _spread(flows, sent, rows, near))
    return best


def _spread(flows: Flows, sent: Ints, rows: Ints, near: dict[int, set[int]]) -> float:
    """The same of the records of one step. A record carries what its sender had when it began; a burst of TCP, half way."""
    bursts = (flows.dst_qp[rows] == 0) & (flows.src_port[rows] > 0)
    begin = sent[rows] + np.where(bursts, (flows.end_ns[rows] - sent[rows]) // 2, 0)
    moments = np.concatenate([flows.end_ns[rows], begin])
    order = np.lexsort((np.arange(len(moments)), moments))  # arrivals before departures of the same moment
    has = {member: 1 << i for i, member in enumerate(near)}
    carries: dict[int, int] = {}
    src, dst = flows.src[rows].tolist(), flows.dst[rows].tolist()
    for event in order.tolist():
        if event >= len(rows):
            carries[event - len(rows)] = has.get(src[event - len(rows)], 0)
        elif event in carries and dst[event] in has:
            has[dst[event]] |= carries[event]
    return sum(own.bit_count() for own in has.values()) / max(len(has), 1) ** 2
