"""Intervals of many ranks at once: every rank has a stretch of one long line of time, so that no loop over ranks is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Mask
from prism.kernels.intervals import Ints, Union

NOTHING = -1
Bytes = NDArray[np.int8]


class Line(NamedTuple):
    """Steps of all ranks on one line of time, in order; empty steps are left out. int64[n] each.

    A time of a rank lies at `rank` × `stretch` + time − `zero`; `begin`, `end` are places on the line.
    """

    zero: int
    stretch: int
    begin: Ints
    end: Ints
    rank: Ints
    step: Ints

    def place(self, rank: Ints, time_ns: Ints) -> Ints:
        """Where times of ranks lie on the line."""
        return rank.astype(np.int64) * self.stretch + (time_ns - self.zero)

    @property
    def shift(self) -> Ints:
        """By how much the places of each step are more than its times, ns."""
        return np.asarray(self.rank * self.stretch - self.zero, dtype=np.int64)

    def slot(self, place: Ints) -> Ints:
        """The step in which each place lies, its end included; `NOTHING` outside."""
        if not len(self.begin):
            return np.full(len(place), NOTHING, np.int64)
        at = np.searchsorted(self.end, place, "left")
        known = np.minimum(at, len(self.end) - 1)
        return np.where((at < len(self.end)) & (self.begin[known] <= place), known, NOTHING)


def line(steps: Sequence[Ints], window: tuple[int, int] | None = None) -> Line:
    """The line of ranks with the given steps, int64[n, 2] each, in order of time.

    `window` holds what other times will be asked for, ns. Stretches are twice as long as all times, so that what is close on
    the line is of one rank.
    """
    rank = np.repeat(np.arange(len(steps)), [len(s) for s in steps])
    number = np.concatenate([np.arange(len(s)) for s in steps]) if len(steps) else np.zeros(0, np.int64)
    both = np.concatenate([np.zeros((0, 2), np.int64), *steps])
    times = np.concatenate([both.ravel(), np.array(window or (), np.int64)])
    low, high = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    stretch = 2 * (high - low) + 2
    if len(steps) * stretch > np.iinfo(np.int64).max:
        raise OverflowError(f"{len(steps)} ranks × {(high - low) / 1e9:.0f} s do not fit one line of nanoseconds")
    full = both[:, 1] > both[:, 0]
    at = rank[full] * stretch - low
    return Line(low, stretch, at + both[full, 0], at + both[full, 1], rank[full], number[full])


def painted(on: Line, colours: Mapping[int, Union]) -> tuple[Ints, Ints, Ints, Ints]:
    """The steps of a line cut into intervals of one colour each: begin, end, slot, colour (`NOTHING` where none), in order.

    Where colours overlap the first of `colours` is seen.
    """
    none = np.zeros(0, np.int64)
    starts, ends = (np.concatenate([none, *(union[side] for union in colours.values())]) for side in range(2))
    bounds = np.cumsum([0, *(len(union[0]) for union in colours.values())])
    return _painted(on.begin, on.end, np.array([*colours], np.int64), starts, ends, bounds)


@compiled
def _painted(begin: Ints, end: Ints, names: Ints, starts: Ints, ends: Ints, bounds: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """`painted`, of steps that begin and end then; the intervals of colour c are those at `bounds` c to c + 1."""
    room = len(begin) + 2 * len(starts)
    first, last = np.empty(room, np.int64), np.empty(room, np.int64)
    slot, colour = np.empty(room, np.int64), np.empty(room, np.int64)
    at, n = bounds[:-1].copy(), 0
    for s in range(len(begin)):
        now = begin[s]
        while now < end[s]:
            seen, until = NOTHING, end[s]
            for c in range(len(names)):
                while at[c] < bounds[c + 1] and ends[at[c]] <= now:
                    at[c] += 1
                if at[c] == bounds[c + 1] or starts[at[c]] >= until:
                    continue
                if starts[at[c]] > now:
                    until = starts[at[c]]
                else:
                    seen, until = names[c], min(until, ends[at[c]])
                    break
            if n and slot[n - 1] == s and colour[n - 1] == seen:
                last[n - 1] = until
            else:
                first[n], last[n], slot[n], colour[n] = now, until, s, seen
                n += 1
            now = until
    return first[:n], last[:n], slot[:n], colour[:n]


@compiled
def told(
    order: Ints,
    src: Ints,
    dst: Ints,
    said: tuple[Bytes, Bytes, Ints],
    times: tuple[Ints, Ints, Ints, Ints],
    zero: int,
    stretch: int,
    begins: Ints,
    ends: Ints,
) -> tuple[Ints, Ints, Ints, Bytes, Bytes, Ints, Mask, Ints, Ints]:
    """Of both ends of n records, senders' 0 … n − 1 and receivers' n … 2n − 1, in some `order`: where on a line the record
    starts and ends, in which step, what is `said` of it (three columns), whether the end sends, and where its sender was ready
    and its receiver said so.

    `times` are start, end, ready and called, ns, these −1 where unknown: then a sender was ready when it started. The line has
    its `zero`, its `stretch`, and steps as in `Line`.
    """
    n, many = len(src), len(order)
    start, end, slot = np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many, np.int64)
    kind, way, octets = np.empty(many, np.int8), np.empty(many, np.int8), np.empty(many, np.int64)
    sends, called = np.empty(many, np.bool_), np.full(many, NOTHING, np.int64)
    who, words = np.concatenate((src, dst)), max(times[2].max(), times[3].max()) >= 0 if n else False
    ready = np.empty(many, np.int64) if words else start
    at = 0
    for k in range(many):
        one = order[k]
        sends[k] = one < n
        i = one - n * (one >= n)  # no branches: they cannot be foreseen
        shift = who[one] * stretch - zero
        start[k], end[k] = times[0][i] + shift, times[1][i] + shift
        kind[k], way[k], octets[k] = said[0][i], said[1][i], said[2][i]
        if words:
            ready[k] = times[2][i] + shift if sends[k] and times[2][i] >= 0 else start[k]
            called[k] = times[3][i] + shift if sends[k] and times[3][i] >= 0 else NOTHING
        while at > 0 and ends[at - 1] >= end[k]:
            at -= 1
        while at < len(ends) and ends[at] < end[k]:
            at += 1
        slot[k] = at if at < len(ends) and begins[at] <= end[k] else NOTHING
    return start, end, slot, kind, way, octets, sends, ready, called


@compiled
def _laid(out: tuple[Ints, Ints, Ints, Bytes], n: int, begin: int, end: int, slot: int, colour: int) -> int:
    """How many intervals there are with one more after the `n` of `out`: none is empty, neighbours of one colour are one."""
    first, last, of, seen = out
    if end <= begin:
        return n
    if n and of[n - 1] == slot and seen[n - 1] == colour and last[n - 1] == begin:
        last[n - 1] = end
        return n
    first[n], last[n], of[n], seen[n] = begin, end, slot, colour
    return n + 1


@compiled
def filled(
    paint: tuple[Ints, Ints, Ints, Ints], begin: Ints, end: Ints, cut: Ints, before: Ints, label: Ints, shift: Ints
) -> tuple[Ints, Ints, Ints, Bytes]:
    """What is `painted`, with two colours in each of the gaps where it has none: `before` up to its `cut`, then `label`.

    Gaps `begin` and `end` then, in order. Begin and end, ns, slot, colour, in order; neighbours of one slot and colour are one.
    `shift` is by how much the places of each slot are more than its times, ns.
    """
    opens, closes, slot, colour = paint
    room = (colour != NOTHING).sum() + (cut > begin).sum() + (end > cut).sum()
    out = (np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int8))
    n, k = 0, 0
    for i in range(len(slot)):
        if colour[i] != NOTHING:
            n = _laid(out, n, opens[i], closes[i], slot[i], colour[i])
            continue
        while k < len(cut) and end[k] <= closes[i]:
            n = _laid(out, n, begin[k], cut[k], slot[i], before[k])
            n = _laid(out, n, cut[k], end[k], slot[i], label[k])
            k += 1
    first, last, of, seen = out
    for i in range(n):
        first[i], last[i] = first[i] - shift[of[i]], last[i] - shift[of[i]]
    return first[:n], last[:n], of[:n], seen[:n]
