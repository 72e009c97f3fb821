"""How much later transfers begin and end than usual, which of that is new, and what were without some of it.

A delay is new where none of what its transfer follows was as late. Loops over records, compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@compiled
def usual(
    begin: Ints, turns: int, model: Ints, share: tuple[Floats, Floats], time: tuple[Floats, Floats], near: float
) -> Floats:
    """How much later than usual each transfer begins and ends; float64[2, transfers], NaN where nothing is to compare with.

    Transfers lie by lane and turn: those of lane l in turn t at `begin[l · turns + t]` and on. Each has its place in what its
    lane moves in that turn (`share`, from and to, 0 … 1) and its `time` of begin and end since the turn began. Usual is the
    median over the turns `model` of when the lane was at that place; the turn itself is left out. A transfer begins at `near`
    of its way and ends so far before its end: where records are cut differs. Of as many transfers in both turns the k-th is
    compared with the k-th: what they move may differ.
    """
    low, high = share
    start, end = time
    out = np.full((2, len(low)), np.nan)
    known = np.empty(len(model))
    for cell in range(len(begin) - 1):
        lane, turn = cell // turns, cell % turns
        base = begin[cell]
        many = begin[cell + 1] - base
        for k in range(base, base + many):
            for side in range(2):
                part = near if side == 0 else 1 - near
                place = low[k] + part * (high[k] - low[k])
                n = 0
                for other in model:
                    first, after = begin[lane * turns + other], begin[lane * turns + other + 1]
                    if other == turn or first == after:
                        continue
                    alike = after - first == many
                    first = first + k - base if alike else found(low, first, after, place)
                    way = part if alike else (place - low[first]) / max(high[first] - low[first], 1e-12)
                    known[n] = start[first] + min(max(way, 0.0), 1.0) * (end[first] - start[first])
                    n += 1
                if n:
                    out[side, k] = start[k] + part * (end[k] - start[k]) - np.median(known[:n])
    return out


@compiled
def usually(begin: Ints, turns: int, model: Ints, share: tuple[Floats, Floats], values: Floats, near: float) -> Floats:
    """Medians over the turns `model` of two `values` of those transfers that each is compared with (`usual`).

    float64[2, transfers]; 0 where nothing is to compare with.
    """
    low, high = share
    out = np.zeros((2, len(low)))
    known = np.empty((2, len(model)))
    for cell in range(len(begin) - 1):
        lane, turn = cell // turns, cell % turns
        base = begin[cell]
        many = begin[cell + 1] - base
        for k in range(base, base + many):
            place = low[k] + near * (high[k] - low[k])
            n = 0
            for other in model:
                first, after = begin[lane * turns + other], begin[lane * turns + other + 1]
                if other == turn or first == after:
                    continue
                first = first + k - base if after - first == many else found(low, first, after, place)
                known[0, n], known[1, n] = values[0, first], values[1, first]
                n += 1
            if n:
                out[0, k], out[1, k] = np.median(known[0, :n]), np.median(known[1, :n])
    return out


@compiled
def found(low: Floats, first: int, after: int, place: float) -> int:
    """The last of the transfers from `first` to before `after` that begins at a `place` or before; the first if none does."""
    while after - first > 1:
        half = (first + after) // 2
        if low[half] <= place:
            first = half
        else:
            after = half
    return first


@compiled
def left(new: float, gone: bool) -> float:
    """What is left of a new delay."""
    return min(new, 0.0) if gone else new


@compiled
def carried(
    k: int, end: int, mates: tuple[Codes, Ints], last: NDArray[np.int64], late: Floats, turn: Codes, more: Floats
) -> float:
    """By how much what an end of transfer k and its mates ended `last` was late, counted from the turn of k."""
    who, of = mates
    most = -np.inf
    for i in range(of[end], of[end + 1]):
        known = last[who[i]]
        if known >= 0:
            value = late[known]
            for t in range(turn[known], turn[k]):
                value -= more[t]
            most = max(most, value)
    return most


@compiled
def follow(
    order: Ints, at: Floats, ends: tuple[Codes, Codes], lane: Codes, turn: Codes, late: Floats, more: Floats,
    mates: tuple[Codes, Ints], circle: Codes, soon: float, gone: Mask, new: Floats,
) -> Floats:  # fmt: skip
    """By how much each transfer begins and ends late if some new delays are `gone`; float64[2, transfers].

    With `new` empty none is known yet: then these are the new delays themselves, before each begins and while it lasts.

    `order` are the moments in order of time: transfer k begins (k) or ends (k + transfers). A transfer follows what its two
    `ends` last ended, they or their `mates` (those of rank r at mates[1][r] and on in mates[0]), the one before it on its
    `lane`, what its sender has been receiving for more than `soon`, for it may pass that on already, and whatever ended in the
    collective of its lane (`circle`, −1 for none): members wait for one another in ways that nobody sees. `at` is when each
    begins and ends; float64[2, transfers]. `late` is by how much it begins and ends late within its turn; `more` by how much
    each turn was longer than usual.
    """
    src, dst = ends
    n, ranks = len(src), len(mates[1]) - 1
    again = new.shape[1] > 0
    then = np.zeros((2, n)) if again else late
    out = then if again else np.zeros((2, n))
    last, coming = np.full(ranks, -1), np.full(ranks, -1)
    before = np.full(lane.max() + 1 if n else 0, -1)
    highest = np.full(circle.max() + 1 if n else 0, -1)
    for moment in order:
        k = moment % n
        own = circle[lane[k]]
        if np.isnan(late[0, k]) or np.isnan(late[1, k]):
            continue
        if moment >= n:
            if again:
                then[1, k] = then[0, k] + left(new[1, k], gone[1, k])
            if coming[dst[k]] == k:
                coming[dst[k]] = -1
            last[src[k]] = last[dst[k]] = before[lane[k]] = k
            if own >= 0 and (highest[own] < 0 or turn[highest[own]] != turn[k] or then[1, highest[own]] < then[1, k]):
                highest[own] = k
            continue
        most = max(carried(k, src[k], mates, last, then[1], turn, more), carried(k, dst[k], mates, last, then[1], turn, more))
        known = before[lane[k]]
        if known >= 0 and turn[known] == turn[k]:
            most = max(most, then[1, known])
        known = coming[src[k]]
        if known >= 0 and turn[known] == turn[k] and at[0, k] - at[0, known] > soon:
            done = (at[0, k] - at[0, known]) / max(at[1, known] - at[0, known], 1.0)
            grows = left(new[1, known], gone[1, known]) if again else late[1, known] - late[0, known]
            most = max(most, then[0, known] + done * grows)
        if own >= 0 and highest[own] >= 0 and turn[highest[own]] == turn[k]:
            most = max(most, then[1, highest[own]])
        known = coming[dst[k]]
        if known < 0 or at[1, k] > at[1, known]:
            coming[dst[k]] = k
        most = most if most > -np.inf else 0.0
        if again:
            then[0, k] = most + left(new[0, k], gone[0, k])
        else:
            out[0, k], out[1, k] = late[0, k] - most, late[1, k] - late[0, k]
    return out


@compiled
def idle(order: Ints, at: Floats, ends: tuple[Codes, Codes], ranks: int) -> Floats:
    """How long the sender and the receiver of each transfer had ended nothing when it began; float64[2, transfers].

    Infinite where they had ended nothing before.
    """
    src, dst = ends
    n = len(src)
    last = np.full(ranks, -np.inf)
    out = np.zeros((2, n))
    for moment in order:
        k = moment % n
        if moment >= n:
            for end in (src[k], dst[k]):
                last[end] = max(last[end], at[1, k])
        else:
            out[0, k], out[1, k] = at[0, k] - last[src[k]], at[0, k] - last[dst[k]]
    return out
