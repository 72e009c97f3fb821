"""Intervals of many ranks at once: every rank has a stretch of one long line of time, so that no loop over ranks is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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


def inside(places: Ints, union: Union) -> NDArray[np.bool_]:
    """Whether each place lies in a union; ends of intervals do not."""
    return np.asarray(np.searchsorted(union[0], places, "right") > np.searchsorted(union[1], places, "right"))


def painted(on: Line, colours: Mapping[int, Union]) -> tuple[Ints, Ints, Ints, Ints]:
    """The steps of a line cut into intervals of one colour each: begin, end, slot, colour (`NOTHING` where none), in order.

    Where colours overlap the first of `colours` is seen.
    """
    cuts = np.sort(np.concatenate([on.begin, on.end, *(side for union in colours.values() for side in union)]))
    begin, end = cuts[:-1], cuts[1:]
    within = inside(begin, (on.begin, on.end)) & (begin < end)
    begin, end = begin[within], end[within]
    slot = np.searchsorted(on.begin, begin, "right") - 1
    colour = np.full(len(begin), NOTHING, np.int64)
    for name, union in reversed(list(colours.items())):
        colour[inside(begin, union)] = name
    return fused(begin, end, slot, colour)


def fused(begin: Ints, end: Ints, slot: Ints, colour: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Intervals in order with neighbours of one slot and colour made one; empty ones are left out."""
    full = end > begin
    begin, end, slot, colour = begin[full], end[full], slot[full], colour[full]
    if not len(begin):
        return begin, end, slot, colour
    first = np.flatnonzero(np.r_[True, (slot[1:] != slot[:-1]) | (colour[1:] != colour[:-1]) | (begin[1:] != end[:-1])])
    return begin[first], end[np.r_[first[1:] - 1, len(end) - 1]], slot[first], colour[first]
