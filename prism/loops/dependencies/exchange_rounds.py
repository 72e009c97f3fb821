"""Detect rounds of exchanges, in which a rank sends equal octets to each partner: which rank joined one, and which
pairs met.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.record_groups import by_group
from prism.loops.dependencies.matched_volumes import UNKNOWN, Shares

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


def joined_round(sent: Shares, reported: Mask, to: Ints, octets: Ints, *, parts: int = 1024) -> Mask:
    """Mask of the `reported` records that follow others of the same round: a rank that joined has no work left.

    One of a rank's partners may be late: a round begins with the first lane that reaches the same share of its octets, in
    `parts` parts. The records are those `sent` by each rank in each step, `to` their receivers, numbers from 0.
    """
    return _joined_round(sent.order, sent.begins, sent.time, reported, to, octets, parts)


@compiled
def _joined_round(order: Places, begins: Places, time: Ints, reported: Mask, to: Ints, octets: Ints, parts: int) -> Mask:
    lanes = 0
    for one in to:
        lanes = max(lanes, one + 1)
    out, total, moved = np.zeros(len(order), np.bool_), np.zeros(lanes), np.zeros(lanes)
    first, seen = np.empty(parts + 1, np.int64), np.full(parts + 1, -1)
    lane, size = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    for k in range(len(begins) - 1):
        own = range(begins[k], begins[k + 1])
        for j in own:
            i = order[j]
            lane[j], size[j] = to[i] if reported[i] else -1, octets[i]
            if lane[j] >= 0:
                total[lane[j]] += size[j]
        for j in own:
            if lane[j] >= 0:
                part = int(np.rint(moved[lane[j]] / total[lane[j]] * parts))
                if seen[part] < k:
                    first[part], seen[part] = time[j], k
                out[order[j]] = time[j] > first[part]
                moved[lane[j]] += size[j]
        for j in own:
            if lane[j] >= 0:
                total[lane[j]] = moved[lane[j]] = 0.0
    return out


@compiled
def fill_needs(out: Ints, rows: Ints, reported: Mask, before: Ints, joined: Mask, start: Ints, ahead: bool) -> Places:
    """Write to `out` what the `reported` records needed in addition: the data of their round that came `before`, ns.

    Records that `joined` a round began when they could; so did data sent ahead of what came before (`UNKNOWN`), if `ahead`.
    Returns the records that begin a round and have a known need.
    """
    begins, n = np.empty(len(rows), np.intp), 0
    for i in range(len(rows)):
        if reported[i]:
            row = rows[i]
            if joined[i] or (before[i] == UNKNOWN and ahead):
                out[row] = start[row]
            else:
                out[row] = UNKNOWN if before[i] == UNKNOWN else max(out[row], before[i])
            if not joined[i] and out[row] > 0:
                begins[n] = row
                n += 1
    return begins[:n]


def shared_needs(pair: NDArray[Any], back: Ints, start: Ints, needs: Ints, near: float) -> Ints:
    """Need of records of pairs, ns; of two that begin simultaneously, both need what the later one needs.

    Simultaneous starts differ by at most the share `near` of the own work since what either `needs`. `pair` is the number of
    each record's pair, `back` that of the opposite pair, -1 if none.
    """
    order, begins = by_group(pair, len(back), start)
    return _shared_needs(order, begins, back, start, needs, near)


@compiled
def _shared_needs(order: Places, begins: Places, back: Ints, start: Ints, needs: Ints, near: float) -> Ints:
    out = needs.copy()
    for k in range(len(back)):
        low, high = (begins[back[k]], begins[back[k] + 1]) if back[k] >= 0 else (0, 0)
        if low == high:
            continue
        at = low
        for i in order[begins[k] : begins[k + 1]]:
            while at < high and start[order[at]] < start[i]:
                at += 1
            other = order[min(at, high - 1)]
            if low < at < high and start[i] - start[order[at - 1]] <= start[other] - start[i]:
                other = order[at - 1]
            need = max(needs[i], needs[other])
            if abs(start[other] - start[i]) <= near * (start[i] - need):
                out[i] = need
    return out
