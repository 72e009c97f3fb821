"""Find the ends of collectives, and replay event times from the times of their predecessors.

Compiled loops over records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.medians import median, rising

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@compiled
def evened(edge: NDArray[Any], octets: Ints, bounds: Ints, n: int, tolerance: float) -> Ints:
    """Select the `bounds` (places in the records, from 0 to their number) between which all `n` edges move equal shares.

    Shares are of each edge's octets. The first and the last bound are always included.
    """
    total, moved, held = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(len(edge)):
        total[edge[i]] += octets[i]
    out = np.zeros(len(bounds), np.int64)
    count = 1
    for k in range(1, len(bounds)):
        held[:] = 0
        for i in range(bounds[k - 1], bounds[k]):
            held[edge[i]] += octets[i]
        moved += held / np.maximum(total, 1)
        if k == len(bounds) - 1 or (moved.min() > 0 and moved.max() - moved.min() <= tolerance * moved.mean()):
            out[count] = bounds[k]
            count += 1
            moved[:] = 0
    return out[:count]


@compiled
def followed(seen: Floats, gap: Floats, before: Codes, begins: Ints, outer: Ints, lag: Floats) -> Floats:
    """Compute event times: `gap` after the last predecessor; the observed time (`seen`) if there is none.

    Predecessors of event i are `before[begins[i]:begins[i + 1]]`, all earlier in the arrays. An event comes no sooner than
    `lag` after the `outer` one, if that is not −1.
    """
    out = np.empty(len(seen))
    for i in range(len(seen)):
        out[i] = seen[i]
        if begins[i] < begins[i + 1]:
            last = -np.inf
            for k in range(begins[i], begins[i + 1]):
                last = max(last, out[before[k]])
            out[i] = last + gap[i]
        if outer[i] >= 0:
            out[i] = max(out[i], out[outer[i]] + lag[i])
    return out


@compiled
def tied(order: NDArray[np.intp], time: Ints, first: NDArray[Any]) -> None:
    """Sort simultaneous entries of an `order` of time in place by `first`, ascending; equal ones keep their order."""
    low = 0
    for high in range(1, len(order) + 1):
        if high == len(order) or time[order[high]] != time[order[low]]:
            if high > low + 1:
                own = order[low:high].copy()
                order[low:high] = own[rising(first[own])]
            low = high


@compiled
def ranged(values: Ints, bounds: Ints) -> bool:
    """Whether values ascend within each range between the bounds."""
    for k in range(len(bounds) - 1):
        for i in range(bounds[k] + 1, bounds[k + 1]):
            if values[i] < values[i - 1]:
                return False
    return True


@compiled
def acted_before(time: Ints, who: Codes, asked: NDArray[np.intp], peer: Codes, ranks: int) -> Ints:
    """Time at which the `peer` of each of the events `asked` last acted before it; 0 if never, and for all other events.

    Events are in order of time; `who` is the rank that acts, −1 if none.
    """
    out, last, earlier, k = np.zeros(len(time), np.int64), np.zeros(ranks, np.int64), np.zeros(ranks, np.int64), 0
    for i in range(len(time)):
        if k < len(asked) and asked[k] == i:
            out[i] = last[peer[i]] if last[peer[i]] < time[i] else earlier[peer[i]]
            k += 1
        one = who[i]
        if one >= 0 and time[i] > last[one]:
            earlier[one], last[one] = last[one], time[i]
    return out


@compiled
def bounded(gap: Floats, shaded: Mask, rank: Codes, op: Codes, kind: NDArray[Any]) -> None:
    """Limit the `gap` of each shaded event to the median of the clear ones of its rank, stream and kind, else of all ranks."""
    kinds, ops = 1, 1
    for i in range(len(gap)):
        kinds, ops = max(kinds, kind[i] + 1), max(ops, op[i] + 1)
    dark = np.zeros(ops * kinds, np.bool_)
    for i in range(len(gap)):
        if shaded[i]:
            dark[op[i] * kinds + kind[i]] = True
    begins = np.zeros(ops * kinds + 1, np.intp)  # bounds of the events of each stream and kind with a shaded one
    for i in range(len(gap)):
        begins[op[i] * kinds + kind[i] + 1] += dark[op[i] * kinds + kind[i]]
    for k in range(ops * kinds):
        begins[k + 1] += begins[k]
    points, at = np.empty(begins[-1], np.intp), begins.copy()
    for i in range(len(gap)):
        k = op[i] * kinds + kind[i]
        if dark[k]:
            points[at[k]] = i
            at[k] += 1
    for k in range(ops * kinds):
        if dark[k]:
            _bounded(gap, shaded, rank, points[begins[k] : begins[k + 1]])


@compiled
def _bounded(gap: Floats, shaded: Mask, rank: Codes, points: NDArray[np.intp]) -> None:
    """`bounded` for events of one stream and kind."""
    points = points[rising(rank[points])]
    others = gap[points[~shaded[points]]]
    usual, begin = median(others) if len(others) else np.inf, 0
    while begin < len(points):
        end = begin
        while end < len(points) and rank[points[end]] == rank[points[begin]]:
            end += 1
        own = points[begin:end]
        clear = gap[own[~shaded[own]]]
        most = median(clear) if len(clear) else usual
        for i in own:
            if shaded[i]:
                gap[i] = min(gap[i], most)
        begin = end
