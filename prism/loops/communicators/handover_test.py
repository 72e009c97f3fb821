"""Whether a pair hands work over, as stages of a pipeline do, or exchanges, as members of a collective do.

Activations that have gone down and whose gradients have not come back are in flight: while nothing is sent, work is being done
on them. A collective of two leaves nothing in flight once it rests. Every step a pipeline runs empty, so that what went down
and what came up are equal again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from collectors.columns.record import Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.edges import Columns, Edge, activities, bursts_of, laid_out
from prism.loops.arrays.group_sums import Places, preceding
from prism.loops.arrays.intervals import Floats, Ints, at_half, closed
from prism.loops.arrays.medians import median, rising

Moved = tuple[Ints, Ints, Ints]  # start, end and octets of an edge's records
NEVER: Ints = np.zeros(0, np.int64)


class Tide(NamedTuple):
    """`busy` is the share of idle time in which something was in flight. It was empty again at `empty`, ns, for `rest` ns."""

    busy: float
    empty: Ints
    rest: float


class Handover(NamedTuple):
    """How a pair stands if its first edge goes down the pipeline, or, the `second`, if its other one does."""

    first: Tide
    second: Tide


NEITHER = Handover(Tide(0.0, np.zeros(0, np.int64), 0.0), Tide(0.0, np.zeros(0, np.int64), 0.0))


def handover(there: Edge, back: Edge) -> Handover | None:
    """`handings` of one pair of edges."""
    return handings([(there, back)])[0]


def handings(
    pairs: Sequence[tuple[Edge, Edge]],
    breaks: Ints = NEVER,
    *,
    share: float = 0.08,
    level: float = 0.25,
    apart: float = 0.35,
    brief: float = 0.2,
    mostly: float = 0.4,
) -> list[Handover | None]:
    """What is in flight between both endpoints of each pair, edges there and back; None where they hand nothing over.

    In flight is more than `level` of a typical burst from the level at which a pair stays longest, as a rule for `share`
    of the time in which neither sends or longer, and in pauses not `brief` against those at that level, or not that brief
    if it is `mostly` so: members of a collective are apart for less, or now and then when one is late; but by one burst at
    most, so that more than one in flight may be so for as briefly as it likes. It is empty again and
    again: never apart by more than the share `apart` of its life. `breaks` are times, ns, at which the job began anew.
    """
    edges = [edge for pair in pairs for edge in pair]
    of, low, high = laid_out(edges)
    (first, _), begun = activities(edges)
    handed, busy, rest, empty, cuts = _handings(of, low, high, first, begun, breaks, share, level, apart, brief, mostly)
    ends = pairwise(cuts.tolist())
    tides = [Tide(one, empty[a:b], other) for one, (a, b), other in zip(busy.tolist(), ends, rest.tolist(), strict=True)]
    both = zip(handed.tolist(), tides[::2], tides[1::2], strict=True)
    return [Handover(down, up) if hands else None for hands, down, up in both]


@compiled
def _handings(
    of: Columns,
    low: Ints,
    high: Ints,
    first: Ints,
    begun: Ints,
    breaks: Ints,
    share: float,
    level: float,
    apart: float,
    brief: float,
    mostly: float,
) -> tuple[Mask, Floats, Floats, Ints, Ints]:
    """`handings` of edges, two by two, whose records are at `low` to before `high`: whether each pair hands over, and by edge
    `busy` and `rest` of its tide, `empty` of all, and where that of each begins. Bursts of edge k began at those `first` that
    are at `begun` k to k + 1.
    """
    handed, n = np.zeros(len(low) // 2, np.bool_), 0
    busy, rest, cuts = np.zeros(len(low)), np.zeros(len(low)), np.zeros(len(low) + 1, np.int64)
    empty = np.empty(2 * (high - low).sum(), np.int64)
    for k in range(0, len(low), 2):
        cuts[k + 1] = cuts[k + 2] = n
        if min(high[k] - low[k], high[k + 1] - low[k + 1]) < 4:
            continue
        one, other = slice(low[k], high[k]), slice(low[k + 1], high[k + 1])
        begins = first[begun[k] : begun[k + 1]], first[begun[k + 1] : begun[k + 2]]
        there, back = (of.start[one], of.end[one], of.octets[one]), (of.start[other], of.end[other], of.octets[other])
        handed[k // 2], down, up = _handover(there, back, begins, breaks, share, level, apart, brief, mostly)
        for i, tide in ((k, down), (k + 1, up)):
            if handed[k // 2]:
                busy[i], own, rest[i] = tide
                empty[n : n + len(own)] = own
                n += len(own)
            cuts[i + 1] = n
    return handed, busy, rest, empty[:n].copy(), cuts


@compiled
def _handover(
    there: Moved,
    back: Moved,
    begins: tuple[Ints, Ints],
    breaks: Ints,
    share: float,
    level: float,
    apart: float,
    brief: float,
    mostly: float,
) -> tuple[bool, tuple[float, Ints, float], tuple[float, Ints, float]]:
    """`handings` of what moved there and back, and when bursts began: whether it is one, and its tides if so."""
    bursts = _burst(begins[0], there[0], there[2]), _burst(begins[1], back[0], back[2])
    times, excess, idle = _excess(there, back, bursts[0] / max(bursts[1], 1.0))
    cuts = np.unique(np.searchsorted(times, breaks))
    unit = level * min(bursts)
    none = (0.0, times[:0], 0.0)
    if idle.sum() <= 0 or unit <= 0:
        return False, none, none
    rank = np.argsort(excess)
    levels = _levelled(excess, idle, cuts, rank)
    order = np.argsort(levels) if len(cuts) else rank
    usual = _usual(levels, idle, unit, order)
    flying = _in_flight(usual, idle)
    if flying < share:
        return False, none, none
    least = brief if flying < mostly else brief / 5
    if _in_flight(_usual(levels, idle, 1.5 * max(bursts), order), idle) < share / 4:  # not deep
        calm, away = idle[usual], idle[~usual]
        if (at_half(away, away) if len(away) else 0.0) < least * (at_half(calm, calm) if len(calm) else 0.0):
            return False, none, none
    down, up = _tide(times, levels, idle, unit), _tide(times, _levelled(-excess, idle, cuts, rank[::-1].copy()), idle, unit)
    handed = _again_and_again(down[1], times, apart) or _again_and_again(up[1], times, apart)
    return handed, down, up


@compiled
def _again_and_again(empty: Ints, times: Ints, apart: float) -> bool:
    """Whether a pair was empty at times never further apart than the share `apart` of its life."""
    longest, last = 0, times[0]
    for time in empty:
        longest, last = max(longest, time - last), time
    return len(empty) >= 3 and max(longest, times[-1] - last) <= apart * (times[-1] - times[0])


@compiled
def _burst(begin: Ints, start: Ints, octets: Ints) -> float:
    """How many octets an edge that began to move at times moves without a pause: half of them come in bursts as large."""
    burst = bursts_of(begin, start, octets)
    return at_half(burst, burst)


@compiled
def _in_flight(usual: Mask, idle: Floats, parts: int = 12) -> float:
    """The share of idle time in which something is in flight, in most parts of a pair's life, which are of as many pauses."""
    whole, away, part = np.zeros(parts), np.zeros(parts), 0
    for i in range(len(idle)):
        while (part + 1) * len(idle) <= i * parts:
            part += 1
        whole[part] += idle[i]
        away[part] += idle[i] * (not usual[i])
    return median(away[whole > 0] / whole[whole > 0])


@compiled
def _usual(level: Floats, idle: Floats, unit: float, order: Places) -> Mask:
    """The pauses within a unit of the level at which a pair stays longest, in an order of levels."""
    return np.abs(level - _longest(level, idle, unit, order)) <= unit


@compiled
def _longest(level: Floats, idle: Floats, unit: float, order: Places) -> float:
    """The level around which a pair stays longest, in an order of levels."""
    time, n = np.zeros(len(order) + 1), len(order)
    for i in range(n):
        time[i + 1] = time[i] + idle[order[i]]
    low = high = 0
    best, most = level[order[0]], -1.0
    for i in range(n):
        own = level[order[i]]
        while level[order[low]] < own - unit:
            low += 1
        while high < n and level[order[high]] <= own + unit:
            high += 1
        if time[high] - time[low] > most:
            best, most = own, time[high] - time[low]
    return float(best)


@compiled
def _tide(times: Ints, level: Floats, idle: Floats, unit: float, brief: float = 0.25) -> tuple[float, Ints, float]:
    """The fields of a `Tide`. It is not empty where it rests for less than `brief` of what half of its rest exceeds, and of
    what half of the other pauses exceeds: work that comes back crosses there with what waited to be sent until its receiver was
    ready.
    """
    begun, rest = np.empty(len(level), np.int64), np.zeros(len(level))
    n, away, calm = 0, 0.0, False
    for i in range(len(level)):
        if level[i] > unit:
            away += idle[i]
            calm = False
            continue
        if not calm:
            begun[n] = times[i]
            n += 1
        calm = True
        rest[n - 1] = max(rest[n - 1], idle[i])
    rest = rest[:n]
    working = idle[level > unit]
    usual = at_half(rest, rest) if n else 0.0
    long = rest >= brief * (min(usual, at_half(working, working)) if len(working) else usual)
    if calm:
        long[-1] = True  # nobody saw how long it lasted
    return away / idle.sum(), begun[:n][long], median(rest[long])


@compiled
def _levelled(level: Floats, idle: Floats, cuts: Ints, order: Places) -> Floats:
    """Levels above the floor of their part: what was in flight when a job crashed never comes back. `order`: of levels."""
    if not len(cuts):
        return level - _floor(level, idle, order)
    out, low = level.copy(), 0
    for high in [*cuts, len(level)]:
        if high > low:
            out[low:high] -= _floor(level[low:high], idle[low:high], np.argsort(level[low:high]))
        low = high
    return out


@compiled
def _excess(there: Moved, back: Moved, bursts: float) -> tuple[Ints, Floats, Floats]:
    """For each pause of both: when it began, by how many octets one side was ahead, and how long it lasted, ns.

    `bursts` is how much larger bursts are there than back. After the last record a pause of 0. Pauses count for no more
    than twice the length that half of the idle time exceeds: an evaluation says nothing.
    """
    starts, ends = np.concatenate((there[0], back[0])), np.concatenate((there[1], back[1]))
    octets = np.concatenate((there[2], -back[2])).astype(np.float64)
    order, begun = _merged(there[1], back[1]), _merged(there[0], back[0])
    level = np.cumsum(octets[order])
    ratio = there[2].sum() / max(back[2].sum(), 1)
    equal = 0.95 <= ratio <= 1.05 or 0.95 <= bursts <= 1.05
    if not equal and not _cut_off(level):
        octets[len(there[0]) :] *= ratio
        level = np.cumsum(octets[order])
    start, stop = closed(starts[begun], ends[begun], 0.0)
    pause = np.zeros(len(stop))
    pause[:-1] = start[1:] - stop[:-1]
    return stop, level[preceding(ends[order], stop, True) - 1], np.minimum(pause, 2 * at_half(pause, pause))


@compiled
def _merged(one: Ints, other: Ints) -> Places:
    """The places of two series on end, each nearly in order, in order of both; equal ones as they are."""
    a, b = rising(one), rising(other)
    out, i, j = np.empty(len(a) + len(b), np.intp), 0, 0
    for k in range(len(out)):
        if j == len(b) or (i < len(a) and one[a[i]] <= other[b[j]]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = len(a) + b[j]
            j += 1
    return out


@compiled
def _cut_off(level: Floats) -> bool:
    """Whether what one side is ahead at last is no more than it was in the first half of a pair's life: it did not grow.

    Then as much moves there as back but for what was cut off, by the capture or by a crash; of a step that hung, all that goes
    there may have gone, to the octet or with some that were sent again.
    """
    most = 0.0
    for i in range(len(level) // 2):
        most = max(most, abs(level[i]))
    return bool(abs(level[-1]) <= 1.05 * most)


@compiled
def _floor(level: Floats, idle: Floats, order: Places, share: float = 0.02) -> float:
    """The lowest level at which a pair stays for a while: the `share` quantile of its idle time, in an order of levels."""
    total = idle.sum()
    k, grown = 0, idle[order[0]]
    while k < len(order) - 1 and grown < share * total:
        k += 1
        grown += idle[order[k]]
    return float(level[order[k]])
