"""Test whether a pair hands over work (pipeline stages) or exchanges (members of a collective).

Activations that were sent and whose gradients have not returned are in flight: while nothing is sent, a stage computes on them.
A collective of two has nothing in flight when it is idle. In every step a pipeline becomes empty: octets sent and returned are
equal again.
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
    """`busy`: share of idle time with octets in flight. It was empty again at `empty`, ns, for `rest` ns."""

    busy: float
    empty: Ints
    rest: float


class Handover(NamedTuple):
    """State of a pair if its first edge carries the activations, or if its `second` edge does."""

    first: Tide
    second: Tide


NEITHER = Handover(Tide(0.0, np.zeros(0, np.int64), 0.0), Tide(0.0, np.zeros(0, np.int64), 0.0))


def handover(there: Edge, back: Edge) -> Handover | None:
    """Compute `handings` of one pair of edges."""
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
    """Test pairs of edges (there and back) for work in flight; None if they hand nothing over.

    Octets in flight deviate by more than `level` of a typical burst from the most frequent level. This holds for `share` of the
    time in which neither side sends, and in pauses that are not `brief` compared with those at that level, or `mostly` not.
    Members of a collective deviate for shorter times, or occasionally if one is late, but by one burst at most; a deviation of
    several bursts may be brief. The pair becomes empty repeatedly: intervals are at most the share `apart` of its time.
    `breaks` are times, ns, at which the job restarted.
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
    """Compute `handings` of edges, two by two, with records at `low` to before `high`.

    Returns whether each pair hands over; by edge `busy` and `rest` of its tide; `empty` of all, and where that of each begins.
    Bursts of edge k begin at the `first` from `begun` k to k + 1.
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
    """Compute `handings` of octets there and back, and the begins of bursts: the result, and its tides."""
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
    """Check whether a pair was empty at intervals of at most the share `apart` of its time."""
    longest, last = 0, times[0]
    for time in empty:
        longest, last = max(longest, time - last), time
    return len(empty) >= 3 and max(longest, times[-1] - last) <= apart * (times[-1] - times[0])


@compiled
def _burst(begin: Ints, start: Ints, octets: Ints) -> float:
    """Octets that an edge, with activity from `begin` times, moves without a pause: half of them are in bursts of that size
    or more.
    """
    burst = bursts_of(begin, start, octets)
    return at_half(burst, burst)


@compiled
def _in_flight(usual: Mask, idle: Floats, parts: int = 12) -> float:
    """Share of idle time with octets in flight, in most of the `parts` of a pair's time, which hold equal numbers of pauses."""
    whole, away, part = np.zeros(parts), np.zeros(parts), 0
    for i in range(len(idle)):
        while (part + 1) * len(idle) <= i * parts:
            part += 1
        whole[part] += idle[i]
        away[part] += idle[i] * (not usual[i])
    return median(away[whole > 0] / whole[whole > 0])


@compiled
def _usual(level: Floats, idle: Floats, unit: float, order: Places) -> Mask:
    """Select the pauses within a unit of the most frequent level, given the order of levels."""
    return np.abs(level - _longest(level, idle, unit, order)) <= unit


@compiled
def _longest(level: Floats, idle: Floats, unit: float, order: Places) -> float:
    """Most frequent level by idle time, given the order of levels."""
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
    """Compute the fields of a `Tide`. Brief pauses do not count as empty: shorter than `brief` of the median (by time) of
    empty pauses, and of the others. There, returning work crosses work that waited for its receiver.
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
        long[-1] = True  # its duration is unknown
    return away / idle.sum(), begun[:n][long], median(rest[long])


@compiled
def _levelled(level: Floats, idle: Floats, cuts: Ints, order: Places) -> Floats:
    """Subtract the floor of each part from levels: octets in flight at a crash never return. `order`: of levels."""
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
    """For each pause of both directions: begin, excess octets of one side, and duration, ns.

    `bursts`: ratio of burst sizes there and back. A pause of 0 follows the last record. Pauses are limited to twice the length
    that half of the idle time exceeds: an evaluation carries no information.
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
    """Order of two concatenated, nearly sorted series, stable."""
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
    """Check whether the final excess of one side is no larger than in the first half of a pair's time: it did not grow.

    Then both directions move equal octets except for truncation by the capture or by a crash. In a step that hung, all octets
    of one direction may have been sent, some of them again.
    """
    most = 0.0
    for i in range(len(level) // 2):
        most = max(most, abs(level[i]))
    return bool(abs(level[-1]) <= 1.05 * most)


@compiled
def _floor(level: Floats, idle: Floats, order: Places, share: float = 0.02) -> float:
    """Lowest level that a pair holds for a while: the `share` quantile of its idle time, given the order of levels."""
    total = idle.sum()
    k, grown = 0, idle[order[0]]
    while k < len(order) - 1 and grown < share * total:
        k += 1
        grown += idle[order[k]]
    return float(level[order[k]])
