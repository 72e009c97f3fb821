"""Place both ends of records on the line of `interval_lines`. Compiled loops over records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops import constants as c
from prism.loops.arrays.group_sums import Places, on_end
from prism.loops.arrays.interval_lines import NOTHING, Bytes, Line
from prism.loops.arrays.intervals import Floats, at_share, weighted_median
from prism.loops.arrays.orders import in_order

Ranks = NDArray[np.int32]
Ends = tuple[Ranks, Ranks]
Told = tuple[Ints, Ints, Ints, Bytes, Bytes, Ints, Mask, Ints, Ints]
ABOUT = [("record", "i4"), ("kind", "i1"), ("way", "i1"), ("sends", "?")]
END = np.dtype([("start", "i8"), ("end", "i8"), ("octets", "i8"), *ABOUT], align=True)  # ends are sorted as a whole


def in_time(start: Ints, rows: Sequence[Places]) -> tuple[Places, NDArray[np.int32]]:
    """Rows of streams in order of `start`, stable by stream; and the stream of each."""
    every, bounds = on_end(rows)
    of = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(bounds))
    order = in_order(start[every])
    return every[order], of[order]


def ways(src: Ranks, dst: Ranks, piped: Mask, stage: Ints) -> Bytes:
    """+1 for records down a pipeline of ranks' stages, −1 up, 0 if they are not `piped` or a stage is unknown.

    With interleaved stages the last stage sends to the first.
    """
    last, here, there = int(stage.max(initial=0)), stage[src], stage[dst]
    apart = there - here
    if last > 1:
        apart = np.where(np.abs(apart) == last, -apart, apart)
    return np.where(piped & (here >= 0) & (there >= 0), np.sign(apart), 0).astype(np.int8)


def told(ends: Ends, times: tuple[Ints, Ints], said: tuple[Bytes, Bytes, Ints], words: tuple[Ints, Ints], on: Line) -> Told:
    """Place both ends of records in order of start on a line, by rank and start, senders first.

    Returns start and end on the line, step, the three columns `said`, whether the end sends, and when its sender was ready and
    its receiver announced readiness. `ends`: sending and receiving ranks (at least −1). `times`: start and end. `words`: when
    sender and receiver announced readiness, ns, −1 if unknown: then a sender was ready at the start. Without any announcement
    `words` are empty.
    """
    ranks = max(int(side.max(initial=NOTHING)) for side in ends) + 1
    firsts = np.searchsorted(on.rank, np.arange(ranks + 1))
    return _told(np.empty(2 * len(times[0]), END), ends, times, said, words, on[:4], firsts)


@compiled
def _told(
    some: NDArray[Any],
    ends: Ends,
    times: tuple[Ints, Ints],
    said: tuple[Bytes, Bytes, Ints],
    words: tuple[Ints, Ints],
    line: tuple[int, int, Ints, Ints],
    firsts: Ints,
) -> Told:
    """Compute `told` with room for `some` ends; steps of rank r are those of the line at `firsts` r to r + 1."""
    bounds = _sorted(some, ends, times, said, len(firsts) - 1)
    zero, stretch, begins, closes = line
    n, worded = len(some), len(words[0]) > 0
    start, end, slot, octets = (np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64))
    kind, way, sends = np.empty(n, np.int8), np.empty(n, np.int8), np.empty(n, np.bool_)
    ready, called = (np.empty(n, np.int64) if worded else start), np.full(n if worded else 0, NOTHING, np.int64)
    for rank in range(-1, len(firsts) - 1):
        low, high = (firsts[rank], firsts[rank + 1]) if rank >= 0 else (0, 0)
        at, shift = low, rank * stretch - zero
        for k in range(bounds[rank + 1], bounds[rank + 2]):
            one = some[k]
            start[k], end[k], octets[k] = one.start + shift, one.end + shift, one.octets
            kind[k], way[k], sends[k] = one.kind, one.way, one.sends
            if worded:
                offer, call = (words[0][one.record], words[1][one.record]) if one.sends else (NOTHING, NOTHING)
                ready[k] = offer + shift if offer >= 0 else start[k]
                called[k] = call + shift if call >= 0 else NOTHING
            while at > low and closes[at - 1] >= end[k]:
                at -= 1
            while at < high and closes[at] < end[k]:
                at += 1
            slot[k] = at if at < high and begins[at] <= end[k] else NOTHING
    return start, end, slot, kind, way, octets, sends, ready, called


@compiled
def _sorted(
    some: NDArray[Any], ends: Ends, times: tuple[Ints, Ints], said: tuple[Bytes, Bytes, Ints], ranks: int
) -> NDArray[np.intp]:
    """Write both ends of records in order of start into `some`, by rank and start; return where those of each rank begin,
    from −1.
    """
    (src, dst), (start, end), (kind, way, octets) = ends, times, said
    n, bounds = len(start), np.zeros(ranks + 2, np.intp)
    for i in range(n):
        bounds[src[i] + 2] += 1
        bounds[dst[i] + 2] += 1
    for k in range(ranks + 1):
        bounds[k + 1] += bounds[k]
    at, low = bounds.copy(), 0
    while low < n:
        high = low + 1
        while high < n and start[high] == start[low]:
            high += 1
        for side in range(2):
            for i in range(low, high):
                rank = dst[i] if side else src[i]
                one = some[at[rank + 1]]
                at[rank + 1] += 1
                one.start, one.end, one.octets, one.record = start[i], end[i], octets[i], i
                one.kind, one.way, one.sends = kind[i], way[i], side == 0
        low = high
    return bounds


@compiled
def coloured(names: Ints, kind: Bytes, start: Ints, end: Ints, close: Floats) -> tuple[Ints, Ints, Ints, Ints]:
    """Intervals in which records, in order of start, of each kind of `names` are active; gaps up to the kind's `close` are
    closed.

    Returns begin, end, and the range of each name: from the third's to before the fourth's place.
    """
    many = 0
    for name in names:
        many = max(many, name + 1)
    number, low = np.full(many, -1, np.int64), np.zeros(len(names) + 1, np.int64)
    for k in range(len(names)):
        number[names[k]] = k
    for one in kind:
        if one < many and number[one] >= 0:
            low[number[one] + 1] += 1
    for k in range(len(names)):
        low[k + 1] += low[k]
    first, last, high = np.empty(low[-1], np.int64), np.empty(low[-1], np.int64), low[:-1].copy()
    for i in range(len(kind)):
        k = number[kind[i]] if kind[i] < many else -1
        if k >= 0:
            n = high[k]
            if n == low[k] or start[i] - last[n - 1] > close[k]:
                first[n], last[n] = start[i], end[i]
                high[k] += 1
            else:
                last[n - 1] = max(last[n - 1], end[i])
    return first, last, low[:-1], high


def paces(names: Ints, kind: Bytes, start: Ints, end: Ints, octets: Ints) -> Floats:
    """Duration of the record with the median octet of each kind of `names`, ns; 0 for kinds without records."""
    some = (np.flatnonzero(kind == name) for name in names)
    return np.array([weighted_median(end[own] - start[own], octets[own]) for own in some])


def unit_of(octets: Ints, messages: Ints) -> float:
    """Octets of a small message: a tenth of all octets, of at least one record, are in messages of at most that size."""
    return at_share(octets // np.maximum(messages, 1), octets, c.SMALL)
