"""Process intervals of many ranks at once: every rank has its own stretch of one long time line, without a loop over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import preceding
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.orders import in_order

NOTHING = -1
Bytes = NDArray[np.int8]
Painted = tuple[Ints, Ints, Ints, Ints]


class Line(NamedTuple):
    """Steps of all ranks on one time line, in order, without empty steps. int64[n] each.

    A time of a rank is at `rank` × `stretch` + time − `zero`; `begin` and `end` are places on the line.
    """

    zero: int
    stretch: int
    begin: Ints
    end: Ints
    rank: Ints
    step: Ints

    def place(self, rank: Ints, time_ns: Ints) -> Ints:
        """Convert times of ranks to places on the line."""
        return rank.astype(np.int64) * self.stretch + (time_ns - self.zero)

    @property
    def shift(self) -> Ints:
        """Difference between the places of each step and its times, ns."""
        return np.asarray(self.rank * self.stretch - self.zero, dtype=np.int64)

    def slot(self, place: Ints) -> Ints:
        """Step that contains each place, including its end; `NOTHING` outside."""
        if not len(self.begin):
            return np.full(len(place), NOTHING, np.int64)
        at = np.searchsorted(self.end, place, "left")
        known = np.minimum(at, len(self.end) - 1)
        return np.where((at < len(self.end)) & (self.begin[known] <= place), known, NOTHING)


def line(steps: Sequence[Ints], window: tuple[int, int] | None = None) -> Line:
    """Build the line of ranks with the given steps, int64[n, 2] each, in order of time.

    `window` contains all other times that will be converted, ns. Stretches are twice as long as all times, so that close places
    belong to one rank.
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


@compiled
def painted(begin: Ints, end: Ints, names: Ints, colours: Painted) -> Painted:
    """Divide steps into intervals of one colour each: begin, end, slot, colour (`NOTHING` if none).

    All are in order of time. The first two arrays of `colours` are begin and end; the others are the ranges of each of the
    `names` in them. Where colours overlap, the first name wins.
    """
    starts, ends, low, high = colours
    room, at, n = len(begin), low.copy(), 0
    for c in range(len(names)):
        room += 2 * (high[c] - low[c])
    first, last = np.empty(room, np.int64), np.empty(room, np.int64)
    slot, colour = np.empty(room, np.int64), np.empty(room, np.int64)
    for s in range(len(begin)):
        now = begin[s]
        while now < end[s]:
            seen, until = NOTHING, end[s]
            for c in range(len(names)):
                while at[c] < high[c] and ends[at[c]] <= now:
                    at[c] += 1
                if at[c] == high[c] or starts[at[c]] >= until:
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


def unpainted(paint: Painted) -> tuple[Ints, Ints, Ints]:
    """Return the intervals of `painted` without a colour: begin, end, slot."""
    begin, end, slot, colour = paint
    none = np.flatnonzero(colour == NOTHING)
    return begin[none], end[none], slot[none]


def filled(
    paint: Painted, begin: Ints, end: Ints, cut: Ints, before: Bytes, label: Bytes, shift: Ints
) -> tuple[Ints, Ints, Ints, Bytes]:
    """Fill each gap of `painted` with two colours: `before` up to its `cut`, then `label`.

    `begin` and `end` are the gaps, in order. Returns begin and end, ns, slot, colour, in order; neighbours of one slot and
    colour are merged. `shift`: difference between the places of each slot and its times, ns.
    """
    opens, closes, of, colour = paint
    own, slot = np.flatnonzero(colour != NOTHING), of[preceding(opens, begin, True) - 1]
    first, last = np.concatenate([opens[own], begin, cut]), np.concatenate([closes[own], cut, end])
    slots, seen = np.concatenate([of[own], slot, slot]), np.concatenate([colour[own].astype(np.int8), before, label])
    some = np.flatnonzero(last > first)
    order = some.take(in_order(first.take(some)))
    first, last, slots, seen = (column.take(order) for column in (first, last, slots, seen))
    alike = (slots[1:] == slots[:-1]) & (seen[1:] == seen[:-1]) & (first[1:] == last[:-1])
    heads, tails = np.ones(len(order), np.bool_), np.ones(len(order), np.bool_)
    heads[1:], tails[:-1] = ~alike, ~alike
    slots = slots[heads]
    return first[heads] - shift[slots], last[tails] - shift[slots], slots, seen[heads]
