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

PART = 0.02  # of a transfer: once so much of it has gone, what begins does not begin at once with it


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
def begun(k: int, rank: int, underway: Ints, at: Floats) -> None:
    """Note that transfer k of a rank begins: `underway` holds the one that began first and the one that ends last.

    int64[2, ranks]; -1 for none.
    """
    if underway[0, rank] < 0:
        underway[0, rank] = k
    elif underway[1, rank] < 0 or at[1, k] > at[1, underway[1, rank]]:
        underway[1, rank] = k


@compiled
def ended(k: int, rank: int, underway: Ints) -> None:
    """Note that transfer k of a rank ends; the one that ends last is then the first that is still underway."""
    if underway[0, rank] == k:
        underway[0, rank] = underway[1, rank]
        underway[1, rank] = -1
    elif underway[1, rank] == k:
        underway[1, rank] = -1


@compiled
def part_done(now: float, began: float, ends: float, soon: float, together: bool) -> float:
    """Which part of a transfer has come by `now`, 0 … 1; 0 where that is at once with its begin.

    That is within `soon`; of a transfer of the same collective (`together`) within a `PART` of it, if that is less.
    """
    lasts = max(ends - began, 1.0)
    return (now - began) / lasts if now - began > (min(soon, PART * lasts) if together else soon) else 0.0


@compiled
def passed_on(
    k: int, ends: tuple[Codes, Codes], underway: Ints, lane: Codes, turn: Codes, circle: Codes, at: Floats, then: Floats,
    late: Floats, new: Floats, gone: Mask, soon: float,
) -> float:  # fmt: skip
    """By how much what transfer k may pass on is late when it begins: what its ends are moving; -inf where there is none.

    That is what its sender receives, and in its own collective whatever either end sends or receives.
    """
    src, dst = ends
    own, most = circle[lane[k]], -np.inf
    for known in (underway[0, src[k]], underway[1, src[k]], underway[0, dst[k]], underway[1, dst[k]]):
        if known < 0 or turn[known] != turn[k]:
            continue
        together = own >= 0 and circle[lane[known]] == own
        done = part_done(at[0, k], at[0, known], at[1, known], soon, together)
        if done > 0 and (together or dst[known] == src[k]):
            grows = left(new[1, known], gone[1, known]) if new.shape[1] else late[1, known] - late[0, known]
            most = max(most, then[0, known] + done * grows)
    return most


@compiled
def follow(
    order: Ints, at: Floats, ends: tuple[Codes, Codes], lane: Codes, turn: Codes, late: Floats, more: Floats,
    mates: tuple[Codes, Ints], circle: Codes, soon: float, gone: Mask, new: Floats,
) -> Floats:  # fmt: skip
    """By how much each transfer begins and ends late if some new delays are `gone`; float64[2, transfers].

    With `new` empty none is known yet: then these are the new delays themselves, before each begins and while it lasts.

    `order` are the moments in order of time: transfer k begins (k) or ends (k + transfers). A transfer follows what its two
    `ends` last ended, they or their `mates` (those of rank r at mates[1][r] and on in mates[0]), and the one before it on its
    `lane`. It follows what its sender has been receiving for more than `soon`, for it may pass that on already, and what either
    end has been moving of the same collective (`part_done`). It follows whatever ended in the collective of its lane (`circle`,
    −1 for none): members wait for one another in ways that nobody sees.

    `at` is when each begins and ends; float64[2, transfers]. `late` is by how much it begins and ends late within its turn;
    `more` by how much each turn was longer than usual.
    """
    src, dst = ends
    n, ranks = len(src), len(mates[1]) - 1
    again = new.shape[1] > 0
    then = np.zeros((2, n)) if again else late
    out = then if again else np.zeros((2, n))
    last = np.full(ranks, -1)
    underway = np.full((2, ranks), -1)
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
            ended(k, src[k], underway)
            ended(k, dst[k], underway)
            last[src[k]] = last[dst[k]] = before[lane[k]] = k
            if own >= 0 and (highest[own] < 0 or turn[highest[own]] != turn[k] or then[1, highest[own]] < then[1, k]):
                highest[own] = k
            continue
        most = max(carried(k, src[k], mates, last, then[1], turn, more), carried(k, dst[k], mates, last, then[1], turn, more))
        known = before[lane[k]]
        if known >= 0 and turn[known] == turn[k]:
            most = max(most, then[1, known])
        most = max(most, passed_on(k, ends, underway, lane, turn, circle, at, then, late, new, gone, soon))
        if own >= 0 and highest[own] >= 0 and turn[highest[own]] == turn[k]:
            most = max(most, then[1, highest[own]])
        begun(k, src[k], underway, at)
        begun(k, dst[k], underway, at)
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
