"""Find the transfer that ended each wait of a timeline, and what its sender did during the wait.

A wait is an `idle` phase. It ends with the first transfer to the rank that begins near its end. The rank waited for the sender,
which may have waited itself: the waits form a chain that leads to the cause. Assumption: a rank waits for the data that it
receives. Waits that end with a send of the rank, or with invisible traffic, are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism.graph import constants as c
from prism.loops.arrays.intervals import Ints
from prism.model import PHASES, Timeline

IDLE = PHASES.index("idle")


class Wait(NamedTuple):
    """`rank` waited from `start_ns` to `end_ns` for `peer`; `peer_ns` is a time within the peer's phase during the wait."""

    rank: int
    start_ns: int
    end_ns: int
    peer: int
    peer_ns: int


def waits(timeline: Timeline, *, most: int) -> list[Wait]:
    """List the longest waits with a known end, at most `most`, the longest first."""
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
    slack = np.maximum(c.NEAR * (phases.end_ns[idle] - phases.start_ns[idle]), c.WAIT_END_NS)
    known = (spans.rank[row] == phases.rank[idle]) & (np.abs(at) <= slack)
    out = []
    for place, span in zip(idle[known][:most].tolist(), row[known][:most].tolist(), strict=True):
        start, end = int(phases.start_ns[place]), int(phases.end_ns[place])
        found = _during(timeline, int(spans.peer[span]), start, end)
        if found is not None:
            out.append(Wait(int(phases.rank[place]), start, end, int(spans.peer[span]), found))
    return out


def _nearest(timeline: Timeline, idle: Ints, order: Ints) -> Ints:
    """For each wait the transfer to its rank that begins nearest to its end: rows of spans; of another rank if it has none."""
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
    """A time within [start, end) in the last phase that the rank began before `end`; None if there is none."""
    phases = timeline.phases
    low, high = np.searchsorted(phases.rank, [rank, rank + 1]).tolist()
    place = low + int(np.searchsorted(phases.start_ns[low:high], end)) - 1
    if place < low or phases.end_ns[place] <= start:
        return None
    begin, over = max(int(phases.start_ns[place]), start), min(int(phases.end_ns[place]), end)
    return (begin + over) // 2
