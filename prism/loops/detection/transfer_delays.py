"""Compute how late transfers begin and end, which delays are new, and what remains without some of them.

A delay is new if none of the transfer's predecessors was as late. Compiled loops over records.
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
    begin: Ints,
    turns: int,
    model: Ints,
    share: tuple[Floats, Floats],
    time: tuple[Floats, Floats],
    idle_for: Floats,
    near: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Compute how much later than usual each transfer begins and ends, and how long its ends are usually idle before it.

    Two float64[2, transfers]; if nothing can be compared, NaN in the first and 0 in the second. Transfers are sorted by lane
    and turn (step): those of lane l in turn t start at `begin[l · turns + t]`. `share` is the position of each in its lane's
    octets of the turn (from, to; 0 … 1). `time` is its begin and end since the begin of the turn. `idle_for`: time since its
    sender and its receiver ended a transfer. Usual is the median, over the turns `model` except the turn itself, of the time
    at which the lane was at that position. A transfer's begin is compared at the share `near` of its octets, its end as far
    before the end: records may be cut differently. If most turns have the same number of transfers, the k-th is compared with
    the k-th, whatever their sizes. Else a small transfer at the border of a large one has no counterpart: a barrier, say, that
    only some lanes have; and where usually a transfer is underway, its ends are not idle. They rest before the first transfer
    of a turn as before those of other turns.
    """
    low, high = share
    start, end = time
    late, rested = np.full((2, len(low)), np.nan), np.zeros((2, len(low)))
    known, at = np.empty((4, len(model))), np.empty((2, len(model)), np.int64)
    shown, parts = np.zeros(2, np.int64), (near, 1 - near)
    for cell in range(len(begin) - 1):
        lane, turn = cell // turns, cell % turns
        base = begin[cell]
        many = begin[cell + 1] - base
        at[0] = at[1] = begin[lane * turns + model]
        same_number = numbers_alike(begin, lane * turns, turn, model)
        for k in range(base, base + many):
            n = 0
            shown[:] = 0
            for i in range(len(model)):
                other = model[i]
                first, after = begin[lane * turns + other], begin[lane * turns + other + 1]
                if other == turn or first == after:
                    continue
                alike = same_number and after - first == many
                for side in range(2):
                    known_at = first + k - base, at[side, i]
                    same, way, meets = counterpart(low, high, k, known_at, after, alike, parts[side])
                    at[side, i] = same
                    if meets:
                        known[side, shown[side]] = start[same] + min(max(way, 0.0), 1.0) * (end[same] - start[same])
                        shown[side] += 1
                same = first if k == base else at[0, i]
                within = not alike and low[k] > low[same] + near * (high[same] - low[same])
                for side in range(2):
                    known[2 + side, n] = 0.0 if within else idle_for[side, same]
                n += 1
            for side in range(2):
                if shown[side]:
                    place = start[k] + parts[side] * (end[k] - start[k])
                    late[side, k] = place - middle(known[side], shown[side])
                rested[side, k] = middle(known[2 + side], n) if n else 0.0
    return late, rested


@compiled
def numbers_alike(begin: Ints, lane: int, turn: int, model: Ints) -> bool:
    """Whether most other turns of a lane, which starts at cell `lane`, have as many transfers as one: messages, not bursts."""
    many, known, same = begin[lane + turn + 1] - begin[lane + turn], 0, 0
    for other in model:
        number = begin[lane + other + 1] - begin[lane + other]
        known += other != turn and number > 0
        same += other != turn and number == many
    return 2 * same > known


@compiled
def counterpart(
    low: Floats, high: Floats, one: int, known: tuple[int, int], after: int, alike: bool, part: float
) -> tuple[int, float, bool]:
    """Find the transfer of another turn at the share `part` of one: its number, the share of it there, whether they compare.

    If the turns are `alike` it is the first of `known`; else the search starts at the second. A small transfer at the border of
    a large one compares with nothing: a barrier, say, that only some turns have.
    """
    if alike:
        return known[0], part, True
    place = low[one] + part * (high[one] - low[one])
    same = known[1]
    while same + 1 < after and low[same + 1] <= place:  # the last transfer that begins there or before
        same += 1
    way, near = (place - low[same]) / max(high[same] - low[same], 1e-12), min(part, 1 - part)
    return same, way, high[one] - low[one] >= near * (high[same] - low[same]) or near <= way <= 1 - near


@compiled
def middle(values: Floats, n: int) -> float:
    """Sort the first `n` values in place and return their median. Few values: insertion is faster than to select one."""
    for i in range(1, n):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    return float(values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2)


@compiled
def delay_of_last(end: int, turn: int, mates: tuple[Codes, Ints], last: tuple[Codes, Floats], more: Floats) -> float:
    """Delay of the transfers that an end and its mates ended last, at the begin of a turn; -inf if there is none.

    `last`: turn and delay of the transfer that each rank ended last; turn −1 for none.
    """
    (who, of), (turns, delays) = mates, last
    most = -np.inf
    for i in range(of[end], of[end + 1]):
        known = who[i]
        if turns[known] >= 0:
            value = delays[known]
            for t in range(turns[known], turn):
                value -= more[t]
            most = max(most, value)
    return most


@compiled
def note(k: int, rank: int, underway: Ints, at: Floats, begins: bool) -> None:
    """Record that transfer k of a rank begins or ends: `underway` keeps the one that began first and the one that ends last.

    int64[2, ranks]; -1 for none. At the first one's end, the one that ends last takes its place.
    """
    first, last = underway[0, rank], underway[1, rank]
    if begins and first < 0:
        underway[0, rank] = k
    elif begins and (last < 0 or at[1, k] > at[1, last]):
        underway[1, rank] = k
    elif not begins and k in (first, last):
        underway[0, rank], underway[1, rank] = last if k == first else first, -1


@compiled
def delay_underway(
    k: int, ends: tuple[Codes, Codes], underway: Ints, lane: Codes, turn: Codes, circle: Codes, at: Floats, then: Floats,
    grows: Floats, soon: tuple[float, float],
) -> float:  # fmt: skip
    """Delay that transfer k may inherit from transfers underway at its ends when it begins; -inf if there is none.

    These are transfers that its sender receives, and all transfers of its own collective at either end. `grows`: how
    much the delay of each transfer grows while it lasts. A transfer that began simultaneously gives none: within the time
    `soon[0]`; within one collective also within the share `soon[1]` of it, if that is less.
    """
    src, dst = ends
    own, most = circle[lane[k]], -np.inf
    for known in (underway[0, src[k]], underway[1, src[k]], underway[0, dst[k]], underway[1, dst[k]]):
        if known < 0 or turn[known] != turn[k]:
            continue
        together = own >= 0 and circle[lane[known]] == own
        passed, lasts = at[0, k] - at[0, known], max(at[1, known] - at[0, known], 1.0)
        least = min(soon[0], soon[1] * lasts) if together else soon[0]
        if passed > max(least, 0.0) and (together or dst[known] == src[k]):
            most = max(most, then[0, known] + passed / lasts * grows[known])
    return most


@compiled
def note_input(k: int, rank: int, handed: Ints, lane: Codes, circle: int) -> None:
    """Record that a rank received transfer k outside a collective: `handed` keeps the last one of a lane, and of another.

    int64[2, ranks]; -1 for none.
    """
    if circle < 0:
        if handed[0, rank] >= 0 and lane[handed[0, rank]] != lane[k]:
            handed[1, rank] = handed[0, rank]
        handed[0, rank] = k


@compiled
def delay_of_inputs(k: int, rank: int, handed: Ints, since: float, turn: Codes, at: Floats, then: Floats) -> float:
    """Longest delay of the last hand-overs to a rank (`note_input`) that ended after `since`; -inf if there is none."""
    most = -np.inf
    for known in (handed[0, rank], handed[1, rank]):
        if known >= 0 and turn[known] == turn[k] and at[1, known] > since:
            most = max(most, then[1, known])
    return most


@compiled
def delay_before(
    k: int, ends: tuple[Codes, Codes], lane: Codes, turn: Codes, circle: Codes, at: Floats, then: Floats, grows: Floats,
    more: Floats, mates: tuple[Codes, Ints], soon: tuple[float, float], last: tuple[Codes, Floats], before: Ints, highest: Ints,
    underway: Ints, handed: Ints,
) -> float:  # fmt: skip
    """Longest delay of all predecessors of transfer k (`inherited_delays`); 0 if it has none."""
    most = max(delay_of_last(ends[0][k], turn[k], mates, last, more), delay_of_last(ends[1][k], turn[k], mates, last, more))
    known, own = before[lane[k]], circle[lane[k]]
    since = -np.inf
    if known >= 0 and turn[known] == turn[k]:
        most, since = max(most, then[1, known]), at[0, known]
    if own < 0:
        most = max(most, delay_of_inputs(k, ends[0][k], handed, since, turn, at, then))
    most = max(most, delay_underway(k, ends, underway, lane, turn, circle, at, then, grows, soon))
    if own >= 0 and highest[own] >= 0 and turn[highest[own]] == turn[k]:
        most = max(most, then[1, highest[own]])
    return 0.0 if most == -np.inf else most


@compiled
def inherited_delays(
    order: Ints, at: Floats, ends: tuple[Codes, Codes], lane: Codes, turn: Codes, late: Floats, more: Floats,
    mates: tuple[Codes, Ints], circle: Codes, soon: tuple[float, float], gone: Mask, new: Floats, until: int,
) -> Floats:  # fmt: skip
    """Compute the delays of each transfer's begin and end if some new delays are `gone`; float64[2, transfers].

    With `new` empty, compute the new delays instead: before each begin, and while it lasts. Else delays until the first one
    that is gone remain as they are, and those of turns after `until` are not computed. A transfer that absorbed part of its
    predecessors' delays had slack: without these it is in time, not early. So none comes earlier than usual by more than
    without the change, counted from the end of the previous turn (`ahead`: by how much less late that is).

    `order` lists events in order of time: transfer k begins (k) or ends (k + transfers). The predecessors of a transfer are:
    the transfers that its two `ends`, or their `mates` (those of rank r start at mates[1][r] in mates[0]), ended last; the
    previous one on its `lane`; outside collectives, what its sender received since: a stage works on one hand-over while
    another comes; transfers that its sender has been receiving for more than `soon[0]`, and may forward already; transfers of
    the same collective underway at either end (`delay_underway`); and all that ended in its lane's collective (`circle`, −1 for
    none), because members wait for each other in invisible ways.

    `at` is the begin and end of each; float64[2, transfers]. `late` is the delay of its begin and end within its turn; `more`
    is the excess duration of each turn. It is fastest if transfers are numbered in order of their begins.
    """
    src, dst = ends
    n, ranks = len(src), len(mates[1]) - 1
    again = new.shape[1] > 0
    then = late.copy() if again else late
    out = then if again else np.zeros((2, n))
    grows = late[1] - late[0]
    last = np.full(ranks, -1, np.int32), np.zeros(ranks)
    underway = np.full((2, ranks), -1)
    before = np.full(lane.max() + 1 if n else 0, -1)
    highest, handed = np.full(circle.max() + 1 if n else 0, -1), np.full((2, ranks), -1)
    left = 2 * np.count_nonzero(turn <= until)  # events to come
    changed = not again
    ended, ahead = np.full((2, len(more)), -np.inf), np.zeros(len(more) + 1)
    for moment in order:
        k = moment - n if moment >= n else moment
        if left == 0:
            break
        left -= turn[k] <= until
        if np.isnan(grows[k]):
            continue
        own = circle[lane[k]]
        if moment >= n:
            note(k, src[k], underway, at, False)
            note(k, dst[k], underway, at, False)
            last[0][src[k]] = last[0][dst[k]] = turn[k]
            last[1][src[k]] = last[1][dst[k]] = then[1, k]
            before[lane[k]] = k
            note_input(k, dst[k], handed, lane, own)
            t = turn[k]
            ended[0, t], ended[1, t] = max(ended[0, t], at[1, k]), max(ended[1, t], at[1, k] - late[1, k] + then[1, k])
            ahead[t + 1] = min(ended[1, t] - ended[0, t], 0.0)
            known = highest[own] if own >= 0 else -1
            if own >= 0 and (known < 0 or turn[known] != turn[k] or lane[known] == lane[k] or then[1, known] < then[1, k]):
                highest[own] = k
            continue
        changed = changed or gone[0, k] or gone[1, k]
        if changed:
            most = delay_before(
                k, ends, lane, turn, circle, at, then, grows, more, mates, soon, last, before, highest, underway, handed
            )
            for side in range(2):
                least = ahead[turn[k]] + min(late[side, k], 0.0)
                most = max(most, least)
                if again:
                    value = most + (min(new[side, k], 0.0) if gone[side, k] else new[side, k])
                    then[side, k] = max(value, least)
                else:
                    out[side, k] = late[side, k] - most
                most = max(most, then[side, k])
            grows[k] = then[1, k] - then[0, k]
        note(k, src[k], underway, at, True)
        note(k, dst[k], underway, at, True)
    return out


@compiled
def idle(order: Ints, at: Floats, ends: tuple[Codes, Codes], ranks: int) -> Floats:
    """Compute the time since the sender and the receiver of each transfer last ended a transfer, at its begin; float64[2,
    transfers].

    Infinite if they had ended none before.
    """
    src, dst = ends
    n = len(src)
    last = np.full(ranks, -np.inf)
    out = np.zeros((2, n))
    for moment in order:
        k = moment - n if moment >= n else moment
        if moment >= n:
            for end in (src[k], dst[k]):
                last[end] = max(last[end], at[1, k])
        else:
            out[0, k], out[1, k] = at[0, k] - last[src[k]], at[0, k] - last[dst[k]]
    return out
