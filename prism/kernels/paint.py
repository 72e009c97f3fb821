"""Intervals of many ranks at once: every rank has a stretch of one long line of time, so that no loop over ranks is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from prism.kernels.intervals import Ints, Union

NOTHING = -1


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

    def time(self, slot: Ints, place: Ints) -> Ints:
        """The times, ns, of places in the given steps (places in this tuple's arrays)."""
        return np.asarray(place - self.rank[slot] * self.stretch + self.zero, dtype=np.int64)

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
    return first[:n].copy(), last[:n].copy(), slot[:n].copy(), colour[:n].copy()


@compiled
def told(
    order: Ints, src: Ints, dst: Ints, times: tuple[Ints, Ints, Ints, Ints], zero: int, stretch: int, begins: Ints, ends: Ints
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, NDArray[np.bool_]]:
    """Of both ends of n records, senders' 0 … n − 1 and receivers' n … 2n − 1, in some `order`: the record, where on a line it
    starts and ends, in which step, and where its sender was ready and its receiver said so; whether the end sends.

    `times` are start, end, ready and called, ns, these −1 where unknown: then a sender was ready when it started. The line has
    its `zero`, its `stretch`, and steps as in `Line`.
    """
    n, many = len(src), len(order)
    rows, sends = np.empty(many, np.int64), np.empty(many, np.bool_)
    start, end, slot = np.empty(many, np.int64), np.empty(many, np.int64), np.empty(many, np.int64)
    ready, called = np.empty(many, np.int64), np.full(many, NOTHING, np.int64)
    at = 0
    for k in range(many):
        sends[k] = order[k] < n
        i = order[k] if sends[k] else order[k] - n
        shift = (src[i] if sends[k] else dst[i]) * stretch - zero
        rows[k], start[k], end[k] = i, times[0][i] + shift, times[1][i] + shift
        ready[k] = times[2][i] + shift if sends[k] and times[2][i] >= 0 else start[k]
        if sends[k] and times[3][i] >= 0:
            called[k] = times[3][i] + shift
        while at > 0 and ends[at - 1] >= end[k]:
            at -= 1
        while at < len(ends) and ends[at] < end[k]:
            at += 1
        slot[k] = at if at < len(ends) and begins[at] <= end[k] else NOTHING
    return rows, start, end, slot, ready, called, sends


def fused(begin: Ints, end: Ints, slot: Ints, colour: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Intervals in order with neighbours of one slot and colour made one; empty ones are left out."""
    full = end > begin
    begin, end, slot, colour = begin[full], end[full], slot[full], colour[full]
    if not len(begin):
        return begin, end, slot, colour
    first = np.flatnonzero(np.r_[True, (slot[1:] != slot[:-1]) | (colour[1:] != colour[:-1]) | (begin[1:] != end[:-1])])
    return begin[first], end[np.r_[first[1:] - 1, len(end) - 1]], slot[first], colour[first]
