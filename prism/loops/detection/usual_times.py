"""Compute how much later than usual transfers begin and end: than those of the same lane in other turns. Compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.primitives import compiled, part
from prism.loops.detection.transfer_delays import Floats


class Turns(NamedTuple):
    """Transfers sorted by lane and turn (step), and the turns `model` that define what is usual.

    Those of lane l in turn t start at `begin[l · turns + t]`. `share` is the position of each in its lane's octets of the turn
    (from, to; 0 … 1). `time` is its begin and end since the begin of the turn.

    Usual is the median, over the turns `model` except the turn itself, at the same position of the lane. A transfer's begin is
    compared at the share `near` of its octets, its end as far before the end: records may be cut differently. If most turns
    have the same number of transfers, the k-th is compared with the k-th, whatever their sizes. Else a small transfer at the
    border of a large one has no counterpart: a barrier, say, that only some lanes have; and where usually a transfer is
    underway, its ends are not idle. They rest before the first transfer of a turn as before those of other turns.
    """

    begin: Ints
    turns: int
    model: Ints
    share: tuple[Floats, Floats]
    time: tuple[Floats, Floats]
    near: float

    def late(self) -> Floats:
        """How much later than usual each transfer begins and ends; float64[2, transfers]; NaN if nothing can be compared."""
        return self._compared(np.zeros((2, 0)), np.full((2, len(self.time[0])), np.nan), np.zeros((2, 0)))[0]

    def rested(self, idle_for: Floats) -> Floats:
        """How long the ends of each transfer are usually idle before it; float64[2, transfers]; 0 if nothing can be compared.

        `idle_for`: time since its sender and its receiver ended a transfer.
        """
        return self._compared(idle_for, np.zeros((2, 0)), np.zeros((2, len(self.time[0]))))[1]

    def _compared(self, idle_for: Floats, late: Floats, rested: Floats) -> tuple[Floats, Floats]:
        begin, turns, model, share, time, near = self
        known, of = np.empty((4, len(model))), np.empty((4, len(model)), np.int64)
        compare(begin, turns, model, share, time, idle_for, (near, 1 - near), known, of, late, rested)
        return late, rested


@compiled
def compare(
    begin: Ints, turns: int, model: Ints, share: tuple[Floats, Floats], time: tuple[Floats, Floats], idle_for: Floats,
    parts: tuple[float, float], known: Floats, of: Ints, late: Floats, rested: Floats,
) -> None:  # fmt: skip
    """Compute what is `late` and `rested` (`Turns`), unless it has no columns.

    `known` and `of` are memory for four values of each turn of `model`.
    """
    for lane in range((len(begin) - 1) // turns):
        own = begin[lane * turns : (lane + 1) * turns + 1]
        many = compare_alike(own, model, time, idle_for, parts, known, of, late, rested)
        for turn in range(turns):
            if own[turn + 1] - own[turn] != many:
                compare_by_place(own, turn, model, share, time, idle_for, parts, known, of, late, rested)


@part
def compare_by_place(
    begin: Ints, turn: int, model: Ints, share: tuple[Floats, Floats], time: tuple[Floats, Floats], idle_for: Floats,
    parts: tuple[float, float], known: Floats, at: Ints, late: Floats, rested: Floats,
) -> None:  # fmt: skip
    """Compare one turn of one lane, from transfers at the same places of the octets of the turns `model`."""
    base, (start, end) = begin[turn], time
    many = begin[turn + 1] - base
    for i in range(len(model)):
        at[0, i] = at[1, i] = begin[model[i]]
    same_number = numbers_alike(begin, turn, model)
    for k in range(base, base + many):
        for side in range(2 if late.shape[1] else 1):
            n = at_place(begin, turn, model, share, time, (k, many * same_number), (side, parts[side]), known, at)
            if n and late.shape[1]:
                late[side, k] = start[k] + parts[side] * (end[k] - start[k]) - middle(known[0], n)
        if not rested.shape[1]:
            continue
        n = rests_at_place(begin, turn, model, share, idle_for, (k, many * same_number), parts[0], known, at)
        for side in range(2):
            rested[side, k] = middle(known[side], n) if n else 0.0


@part
def at_place(
    begin: Ints, turn: int, model: Ints, share: tuple[Floats, Floats], time: tuple[Floats, Floats], one: tuple[int, int],
    part_of: tuple[int, float], known: Floats, at: Ints,
) -> int:  # fmt: skip
    """Collect in `known[0]` when the lane was at a place of transfer `one[0]` in the other turns of `model`; their number.

    The place is a share of the transfer: `part_of` says whether it counts as its begin (0) or its end, and the share. `at` is
    the transfer of each turn at which the search begins. Turns with `one[1]` transfers are compared one by one (0: none).
    """
    (k, many), (side, place), (start, end), n = one, part_of, time, 0
    for i in range(len(model)):
        first, after = begin[model[i]], begin[model[i] + 1]
        if model[i] == turn or first == after:
            continue
        known_at = first + k - begin[turn], at[side, i]
        same, way, meets = counterpart(share[0], share[1], k, known_at, after, after - first == many, place)
        at[side, i] = same
        if meets:
            known[0, n] = start[same] + min(max(way, 0.0), 1.0) * (end[same] - start[same])
            n += 1
    return n


@part
def rests_at_place(
    begin: Ints, turn: int, model: Ints, share: tuple[Floats, Floats], idle_for: Floats, one: tuple[int, int], near: float,
    known: Floats, at: Ints,
) -> int:  # fmt: skip
    """Collect in `known[:2]` how long both ends were idle before transfer `one[0]` began in the other turns; their number.

    They were not if a transfer was underway there (`at_place`).
    """
    (k, many), (low, high), n = one, share, 0
    for i in range(len(model)):
        first, after = begin[model[i]], begin[model[i] + 1]
        if model[i] == turn or first == after:
            continue
        same = first if k == begin[turn] else at[0, i]
        within = after - first != many and low[k] > low[same] + near * (high[same] - low[same])
        for side in range(2):
            known[side, n] = 0.0 if within else idle_for[side, same]
        n += 1
    return n


@part
def compare_alike(
    begin: Ints, model: Ints, time: tuple[Floats, Floats], idle_for: Floats, parts: tuple[float, float], known: Floats,
    of: Ints, late: Floats, rested: Floats,
) -> int:  # fmt: skip
    """Compare the turns of one lane that have as many transfers as all of the turns `model` that have any.

    Each turn is compared with the same others but itself, so these are sorted once. Returns the number; 0 if the others differ.
    """
    start, end = time
    many, sides = number_of_all(begin, model), range(0 if late.shape[1] else 2, 4 if rested.shape[1] else 2)
    for k in range(many):
        n = 0
        for other in model:
            same = begin[other] + k
            if begin[other + 1] > begin[other]:
                for side in sides:
                    value = start[same] + parts[side] * (end[same] - start[same]) if side < 2 else idle_for[side - 2, same]
                    insert(known[side], of[side], n, value, other)
                n += 1
        for turn in range(len(begin) - 1):
            one = begin[turn] + k
            if begin[turn + 1] - begin[turn] != many:
                continue
            for side in sides:
                compared, usually = middle_of_others(known[side], of[side], n, turn)
                if side >= 2:
                    rested[side - 2, one] = usually
                elif compared:
                    late[side, one] = start[one] + parts[side] * (end[one] - start[one]) - usually
    return int(many)


@part
def number_of_all(begin: Ints, model: Ints) -> int:
    """Number of transfers of each turn of `model` that has any; 0 if numbers differ."""
    many = 0
    for other in model:
        many = max(many, begin[other + 1] - begin[other])
    for other in model:
        if 0 < begin[other + 1] - begin[other] < many:
            return 0
    return int(many)


@part
def insert(ascending: Floats, of: Ints, n: int, value: float, one: int) -> None:
    """Insert a value into the first `n` ascending ones, and the number `one` at the same place `of` theirs."""
    while n > 0 and ascending[n - 1] > value:
        ascending[n], of[n] = ascending[n - 1], of[n - 1]
        n -= 1
    ascending[n], of[n] = value, one


@part
def middle_of_others(ascending: Floats, of: Ints, n: int, one: int) -> tuple[int, float]:
    """Number and median of the first `n` ascending values, without that `of` one; 0 if there are no others."""
    place = n
    for i in range(n):
        if of[i] == one:
            place = i
    others = n - (place < n)
    if not others:
        return 0, 0.0
    high, low = others // 2, (others - 1) // 2
    high, low = high + (high >= place), low + (low >= place)
    return others, ascending[high] if others % 2 else (ascending[low] + ascending[high]) / 2


@part
def numbers_alike(begin: Ints, turn: int, model: Ints) -> bool:
    """Whether most other turns of a lane have as many transfers as one: messages, not bursts."""
    many, known, same = begin[turn + 1] - begin[turn], 0, 0
    for other in model:
        number = begin[other + 1] - begin[other]
        known += other != turn and number > 0
        same += other != turn and number == many
    return 2 * same > known


@part
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


@part
def middle(values: Floats, n: int) -> float:
    """Sort the first `n` values in place and return their median. Few values: insertion is faster than to select one."""
    for i in range(1, n):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    return float(values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2)
