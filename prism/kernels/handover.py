"""Whether a pair hands work over, as stages of a pipeline do, or exchanges, as members of a collective do.

Activations that have gone down and whose gradients have not come back are in flight: while nothing is sent, work is being done
on them. A collective of two leaves nothing in flight once it rests. Every step a pipeline runs empty, so that what went down
and what came up are equal again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from prism.kernels.edges import Edge
from prism.kernels.intervals import Floats, Ints, union, weighted_median
from prism.kernels.ordered import in_order, median

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


def handover(
    there: Edge,
    back: Edge,
    breaks: Ints = NEVER,
    *,
    share: float = 0.08,
    level: float = 0.25,
    apart: float = 0.35,
    brief: float = 0.2,
    mostly: float = 0.4,
) -> Handover | None:
    """What is in flight between two endpoints; None where they hand nothing over.

    In flight is more than `level` of a typical burst from the level at which a pair stays longest, as a rule for `share`
    of the time in which neither sends or longer, and in pauses not `brief` against those at that level, or not that brief
    if it is `mostly` so: members of a collective are apart for less, or now and then when one is late; but by one burst at
    most, so that more than one in flight may be so for as briefly as it likes. It is empty again and
    again: never apart by more than the share `apart` of its life. `breaks` are times, ns, at which the job began anew.
    """
    if len(there.rows) < 4 or len(back.rows) < 4:
        return None
    bursts = _burst(there), _burst(back)
    times, excess, idle = _excess(there, back, bursts[0] / max(bursts[1], 1.0))
    cuts = np.unique(np.searchsorted(times, breaks))
    unit = level * min(bursts)
    total = float(idle.sum())
    if total <= 0 or unit <= 0:
        return None
    levels = _levelled(excess, idle, cuts)
    usual = _usual(levels, idle, unit)
    flying = _in_flight(usual, idle)
    if flying < share:
        return None
    least = brief if flying < mostly else brief / 5
    deep = _in_flight(_usual(levels, idle, 1.5 * max(bursts)), idle) >= share / 4
    if not deep and weighted_median(idle[~usual], idle[~usual]) < least * weighted_median(idle[usual], idle[usual]):
        return None
    tides = [_tide(times, _levelled(way * excess, idle, cuts), idle, unit) for way in (1, -1)]
    life = float(times[-1] - times[0])
    if not any(
        len(t.empty) >= 3 and np.diff(np.concatenate([times[:1], t.empty, times[-1:]])).max() <= apart * life for t in tides
    ):
        return None
    return Handover(*tides)


def _burst(edge: Edge) -> float:
    """How many octets an edge moves without a pause: half of them come in bursts that are as large."""
    begin, _ = edge.activity()
    burst = np.bincount(np.searchsorted(begin, edge.start, "right") - 1, weights=edge.octets)
    return weighted_median(burst, burst)


@compiled
def _in_flight(usual: NDArray[np.bool_], idle: Floats, parts: int = 12) -> float:
    """The share of idle time in which something is in flight, in most parts of a pair's life, which are of as many pauses."""
    whole, away = np.zeros(parts), np.zeros(parts)
    for i in range(len(idle)):
        part = i * parts // len(idle)
        whole[part] += idle[i]
        away[part] += idle[i] * (not usual[i])
    return median(away[whole > 0] / whole[whole > 0])


def _usual(excess: Floats, idle: Floats, unit: float) -> NDArray[np.bool_]:
    """The pauses within a unit of the level at which a pair stays longest."""
    return np.asarray(np.abs(excess - _longest(excess, idle, unit, np.argsort(excess))) <= unit, dtype=np.bool_)


@compiled
def _longest(level: Floats, idle: Floats, unit: float, order: NDArray[np.intp]) -> float:
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


def _tide(times: Ints, level: Floats, idle: Floats, unit: float) -> Tide:
    return Tide(*_emptied(times, level, idle, unit))


@compiled
def _emptied(times: Ints, level: Floats, idle: Floats, unit: float) -> tuple[float, Ints, float]:
    """The fields of a `Tide`."""
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
    return away / idle.sum(), begun[:n].copy(), median(rest[:n])


def _levelled(level: Floats, idle: Floats, cuts: Ints) -> Floats:
    """Levels above the floor of their part: what was in flight when a job crashed never comes back."""
    if not len(cuts):
        return level - _floor(level, idle)
    parts = [part for part in np.split(np.arange(len(level)), cuts) if len(part)]
    return np.concatenate([level[part] - _floor(level[part], idle[part]) for part in parts])


def _excess(there: Edge, back: Edge, bursts: float) -> tuple[Ints, Floats, Floats]:
    """For each pause of both: when it began, by how many octets one side was ahead, and how long it lasted, ns.

    `bursts` is how much larger bursts are there than back. After the last record a pause of 0. Pauses count for no more
    than twice the length that half of the idle time exceeds: an evaluation says nothing.
    """
    ends = np.concatenate([there.end, back.end])
    order = in_order(ends)
    level = np.cumsum(np.concatenate([there.octets, -back.octets])[order]).astype(np.float64)
    ratio = there.volume / max(back.volume, 1)
    equal = any(0.95 <= known <= 1.05 for known in (ratio, bursts))
    if not equal and not _cut_off(level):
        level = np.cumsum(np.concatenate([there.octets.astype(np.float64), -back.octets * ratio])[order])
    start, stop = union(np.concatenate([there.start, back.start]), ends)
    pause = np.append(start[1:] - stop[:-1], 0).astype(np.float64)
    at = np.searchsorted(ends[order], stop, "right") - 1
    return stop, level[at], np.minimum(pause, 2 * weighted_median(pause, pause))


def _cut_off(level: Floats) -> bool:
    """Whether what one side is ahead at last is no more than it was in the first half of a pair's life: it did not grow.

    Then as much moves there as back but for what was cut off, by the capture or by a crash.
    """
    return abs(float(level[-1])) <= float(np.abs(level[: len(level) // 2]).max(initial=0.0))


def _floor(level: Floats, idle: Floats, *, share: float = 0.02) -> float:
    """The lowest level at which a pair stays for a while: the `share` quantile of its idle time."""
    return _first_for(level, idle, share, np.argsort(level))


@compiled
def _first_for(level: Floats, idle: Floats, share: float, order: NDArray[np.intp]) -> float:
    """The first level, in an order, by which a share of the time is reached."""
    total = 0.0
    for i in order:
        total += idle[i]
    k, grown = 0, idle[order[0]]
    while k < len(order) - 1 and grown < share * total:
        k += 1
        grown += idle[order[k]]
    return float(level[order[k]])
