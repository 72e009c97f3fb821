"""Find what ended each wait of a timeline: the transfer that began as the wait was over, and what its sender did meanwhile.

A wait is an `idle` phase. Its end is the first transfer to the rank that begins near it. The sender is who was waited for, or
waits itself: flows then form a chain that leads to the culprit. Assumption: data that a rank receives is what it waited for.
Waits that a send of its own ends, or traffic that was not seen, have no flow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism.loops.arrays.intervals import Ints
from prism.model import PHASES, Timeline

NEAR = 0.1  # of a wait, or NEAR_NS: how far from its end the transfer may begin
NEAR_NS = 200_000
IDLE = PHASES.index("idle")


class Wait(NamedTuple):
    """`rank` waited from `start_ns` to `end_ns` for `peer`; `peer_ns` lies in what the peer did meanwhile."""

    rank: int
    start_ns: int
    end_ns: int
    peer: int
    peer_ns: int


def waits(timeline: Timeline, *, most: int) -> list[Wait]:
    """The longest waits of which the end is known, at most so many, the longest first."""
    phases, spans = timeline.phases, timeline.spans
    idle = np.flatnonzero((phases.phase == IDLE) & (phases.end_ns > phases.start_ns))
    if not len(idle) or len(spans.octets) != len(spans):
        return []
    received = np.flatnonzero((spans.octets < 0) & (spans.peer >= 0))
    if not len(received):
        return []
    order = received[np.lexsort((spans.start_ns[received], spans.rank[received]))]
    idle = idle[np.argsort(phases.start_ns[idle] - phases.end_ns[idle], kind="stable")]
    row = _nearest(timeline, idle, order)
    at = spans.start_ns[row] - phases.end_ns[idle]
    slack = np.maximum(NEAR * (phases.end_ns[idle] - phases.start_ns[idle]), NEAR_NS)
    known = (spans.rank[row] == phases.rank[idle]) & (np.abs(at) <= slack)
    out = []
    for place, span in zip(idle[known][:most].tolist(), row[known][:most].tolist(), strict=True):
        start, end = int(phases.start_ns[place]), int(phases.end_ns[place])
        found = _during(timeline, int(spans.peer[span]), start, end)
        if found is not None:
            out.append(Wait(int(phases.rank[place]), start, end, int(spans.peer[span]), found))
    return out


def _nearest(timeline: Timeline, idle: Ints, order: Ints) -> Ints:
    """Of each wait the transfer to its rank that begins nearest to its end: rows of spans; of another rank if it has none."""
    phases, spans = timeline.phases, timeline.spans
    base = min(int(phases.start_ns.min()), int(spans.start_ns.min()))
    wide = max(int(phases.end_ns.max()), int(spans.start_ns.max())) - base + 1
    if wide * (int(spans.rank.max()) + 1) >= 1 << 62:  # a key of both would not fit
        wide = (1 << 62) // (int(spans.rank.max()) + 1)
    keys = spans.rank[order].astype(np.int64) * wide + np.minimum(spans.start_ns[order] - base, wide - 1)
    ends = phases.rank[idle].astype(np.int64) * wide + np.minimum(phases.end_ns[idle] - base, wide - 1)
    after = np.searchsorted(keys, ends)
    before, after = np.maximum(after - 1, 0), np.minimum(after, len(order) - 1)
    nearer = np.where(np.abs(keys[before] - ends) < np.abs(keys[after] - ends), before, after)
    return np.asarray(order[nearer])


def _during(timeline: Timeline, rank: int, start: int, end: int) -> int | None:
    """A time within [start, end) that lies in the last phase which the rank began before `end`; None where it has none."""
    phases = timeline.phases
    low, high = np.searchsorted(phases.rank, [rank, rank + 1]).tolist()
    place = low + int(np.searchsorted(phases.start_ns[low:high], end)) - 1
    if place < low or phases.end_ns[place] <= start:
        return None
    begin, over = max(int(phases.start_ns[place]), start), min(int(phases.end_ns[place]), end)
    return (begin + over) // 2
