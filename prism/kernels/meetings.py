"""Rounds of exchanges, in which a rank sends as much to each of its partners: who joined one, and who met whom in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from prism.kernels.grouped import by_group
from prism.kernels.intervals import Ints
from prism.kernels.shares import Shares

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]


def who_joined(sent: Shares, told: Mask, to: Ints, octets: Ints, *, parts: int = 1024) -> Mask:
    """Which of the records that are `told` of follow others of the same round: who has joined it has no work left.

    Of the partners of a rank one may be late: a round begins with the first lane that comes to the same share of its octets, in
    so many `parts`. The records are those `sent` by each rank in each step, `to` their receivers, numbers from 0.
    """
    return _who_joined(sent.order, sent.begins, sent.time, told, to, octets, parts)


@compiled
def _who_joined(order: Places, begins: Places, time: Ints, told: Mask, to: Ints, octets: Ints, parts: int) -> Mask:
    lanes = 0
    for one in to:
        lanes = max(lanes, one + 1)
    out, total, moved = np.zeros(len(order), np.bool_), np.zeros(lanes), np.zeros(lanes)
    first, seen = np.empty(parts + 1, np.int64), np.full(parts + 1, -1)
    for k in range(len(begins) - 1):
        own = order[begins[k] : begins[k + 1]]
        for i in own:
            if told[i]:
                total[to[i]] += octets[i]
        for j in range(len(own)):
            i, at = own[j], time[begins[k] + j]
            if told[i]:
                part = int(np.rint(moved[to[i]] / total[to[i]] * parts))
                if seen[part] < k:
                    first[part], seen[part] = at, k
                out[i] = at > first[part]
                moved[to[i]] += octets[i]
        for i in own:
            total[to[i]] = moved[to[i]] = 0.0
    return out


def met(pair: NDArray[Any], back: Ints, start: Ints, needs: Ints, near: float) -> Ints:
    """What records of pairs need, ns, where those that begin at once need what the later one of them does.

    At once are two whose starts are apart by no more than the share `near` of what either worked since what it `needs`. `pair`
    is the number of each record's, `back` that of the pair the other way, -1 without any.
    """
    order, begins = by_group(pair, len(back), start)
    return _met(order, begins, back, start, needs, near)


@compiled
def _met(order: Places, begins: Places, back: Ints, start: Ints, needs: Ints, near: float) -> Ints:
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
