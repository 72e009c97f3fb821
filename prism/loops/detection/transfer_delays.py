"""Compute which delays of transfers are new, and what remains without some of them.

A delay is new if none of the transfer's predecessors was as late. Compiled loops over records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.primitives import compiled, part

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@part
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


@part
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


@part
def delay_underway(
    k: int, rank: int, ends: tuple[Codes, Codes], underway: Ints, lane: Codes, turn: Codes, circle: Codes, at: Floats,
    then: Floats, grows: Floats, soon: tuple[float, float],
) -> float:  # fmt: skip
    """Delay that transfer k may inherit from transfers underway at a rank when it begins; -inf if there is none.

    The rank is an end of the transfer or a mate of its sender. These are transfers that the sender receives, and all transfers
    of its own collective. `grows`: how much the delay of each transfer grows while it lasts. A transfer that began
    simultaneously gives none: within the time `soon[0]`; within one collective also within the share `soon[1]` of it, if that
    is less.
    """
    own, most = circle[lane[k]], -np.inf
    for known in (underway[0, rank], underway[1, rank]):
        if known < 0 or turn[known] != turn[k]:
            continue
        together = own >= 0 and circle[lane[known]] == own
        passed, lasts = at[0, k] - at[0, known], max(at[1, known] - at[0, known], 1.0)
        least = min(soon[0], soon[1] * lasts) if together else soon[0]
        if passed > max(least, 0.0) and (together or ends[1][known] == ends[0][k]):
            most = max(most, then[0, known] + passed / lasts * grows[known])
    return most


@part
def note_input(k: int, rank: int, handed: Ints, lane: Codes, circle: int) -> None:
    """Record that a rank received transfer k outside a collective: `handed` keeps the last one of a lane, and of another.

    int64[2, ranks]; -1 for none.
    """
    if circle < 0:
        if handed[0, rank] >= 0 and lane[handed[0, rank]] != lane[k]:
            handed[1, rank] = handed[0, rank]
        handed[0, rank] = k


@part
def delay_of_inputs(k: int, rank: int, handed: Ints, since: float, turn: Codes, at: Floats, then: Floats) -> float:
    """Longest delay of the last hand-overs to a rank (`note_input`) that ended after `since`; -inf if there is none."""
    most = -np.inf
    for known in (handed[0, rank], handed[1, rank]):
        if known >= 0 and turn[known] == turn[k] and at[1, known] > since:
            most = max(most, then[1, known])
    return most


@part
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
    (who, of), (src, dst) = mates, ends
    for i in range(of[src[k]] - 1, of[src[k] + 1]):  # the receiver, then the sender and its mates
        rank = dst[k] if i < of[src[k]] else who[i]
        most = max(most, delay_underway(k, rank, ends, underway, lane, turn, circle, at, then, grows, soon))
    if own >= 0 and highest[own] >= 0 and turn[highest[own]] == turn[k]:
        most = max(most, then[1, highest[own]])
    return 0.0 if most == -np.inf else most


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
    the same collective underway at either end, or at a mate of the sender (`delay_underway`); and all that ended in its lane's
    collective (`circle`, −1 for none), because members wait for each other in invisible ways.

    `at` is the begin and end of each; float64[2, transfers]. `late` is the delay of its begin and end within its turn; `more`
    is the excess duration of each turn. It is fastest if transfers are numbered in order of their begins.
    """
    n, ranks = len(turn), len(mates[1]) - 1
    again = new.shape[1] > 0
    then = late.copy() if again else late
    out = then if again else np.zeros((2, n))
    last = np.full(ranks, -1, np.int32), np.zeros(ranks)
    before, highest = (np.full(int(of.max()) + 1 if n else 0, -1) for of in (lane, circle))
    underway, handed = np.full((2, ranks), -1), np.full((2, ranks), -1)
    left = 2 * int(np.count_nonzero(turn <= until))  # events to come
    ends_of_turns = np.full((2, len(more)), -np.inf), np.zeros(len(more) + 1)
    inherit(
        order, at, ends, lane, turn, late, more, mates, circle, soon, gone, new, until, then, out, late[1] - late[0], last,
        underway, before, highest, handed, left, ends_of_turns,
    )  # fmt: skip
    return out


@compiled
def inherit(
    order: Ints, at: Floats, ends: tuple[Codes, Codes], lane: Codes, turn: Codes, late: Floats, more: Floats,
    mates: tuple[Codes, Ints], circle: Codes, soon: tuple[float, float], gone: Mask, new: Floats, until: int, then: Floats,
    out: Floats, grows: Floats, last: tuple[Codes, Floats], underway: Ints, before: Ints, highest: Ints, handed: Ints,
    left: int, ends_of_turns: tuple[Floats, Floats],
) -> None:  # fmt: skip
    """Compute `inherited_delays` into `out`, over events in order of time; the other new arguments are its memory."""
    (src, dst), (ended, ahead) = ends, ends_of_turns
    n = len(src)
    again = new.shape[1] > 0
    changed = not again
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


def idle(order: Ints, at: Floats, ends: tuple[Codes, Codes], ranks: int) -> Floats:
    """Compute the time since the sender and the receiver of each transfer last ended a transfer, at its begin; float64[2,
    transfers].

    Infinite if they had ended none before.
    """
    out = np.zeros((2, len(ends[0])))
    rest(order, at, ends, np.full(ranks, -np.inf), out)
    return out


@compiled
def rest(order: Ints, at: Floats, ends: tuple[Codes, Codes], last: Floats, out: Floats) -> None:
    """Compute `idle` into `out`; `last` is when each rank last ended a transfer: −inf at first."""
    src, dst = ends
    n = len(src)
    for moment in order:
        k = moment - n if moment >= n else moment
        if moment >= n:
            for end in (src[k], dst[k]):
                last[end] = max(last[end], at[1, k])
        else:
            out[0, k], out[1, k] = at[0, k] - last[src[k]], at[0, k] - last[dst[k]]
