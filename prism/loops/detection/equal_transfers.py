"""Transfers of equal size, one after another: where a stream stands in the middle of one, it waits for its receiver.

A sender may send some octets before the receiver is ready (a window, the slots of a buffer), and the rest of the transfer when
it is. So what moves between two rests is a transfer, the first part of one, or what is left of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.edges import Edge, laid_out
from prism.loops.arrays.group_sums import on_end
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.medians import median

NEAR = 0.005  # sizes that differ by less than this share are the same
SHARE = 0.02  # of a transfer: less is none of it
MOST, WHOLLY, WHOLE = 16, 0.7, 0.05  # sizes looked at; the share that is transfers; what a step may be off so many, of one


def gone_on(edges: Sequence[Edge], steps: Sequence[Ints], period: float, *, border: float = 0.05) -> NDArray[np.intp]:
    """The rows of some edges with which transfers go on after a rest in the middle of them.

    `steps` are those of each edge's sender, ns, int64[n, 2]; a border may be misplaced by the share `border` of the period.
    """
    if not edges:
        return np.zeros(0, np.intp)
    of, low, high = laid_out(edges)
    times, cuts = on_end([np.append(own[0, 0] - 1, own[:, 1]) for own in steps])
    places = Places(low, high, times, cuts)
    rests, bounds, every = _units(of.start, of.end, of.octets, places, border * period, MOST, WHOLLY, WHOLE)
    units = Counter(unit for unit in every.tolist() if unit)
    usual = units.most_common(1)[0][0] if units else 0.0  # what is always parted on an edge is told by others
    return of.rows[_gone_on(of.octets, rests, bounds, np.where(every > 0, every, usual), places, WHOLE)]


class Places(NamedTuple):
    """The records of some edges, at `low` to before `high`, and the borders of their steps, at `cuts` k to k + 1 of `times`."""

    low: Ints
    high: Ints
    times: Ints
    cuts: Ints


@compiled
def _units(
    begin: Ints, end: Ints, octets: Ints, places: Places, reach: float, most: int, share: float, whole: float
) -> tuple[Mask, Ints, Floats]:
    """Where edges rest, the borders of their steps, and the unit of each of them."""
    low, high, times, cuts = places
    rests, bounds, units = np.zeros(len(begin), np.bool_), np.empty(len(times), np.int64), np.zeros(len(low))
    for k in range(len(low)):
        own, at = slice(low[k], high[k]), slice(cuts[k], cuts[k + 1])
        rests[own] = rested(begin[own], end[own])
        bounds[at] = borders(begin[own], end[own], times[at], begin[high[k] - 1], reach)
        units[k] = _unit(octets[own], rests[own], _steps(bounds[at]), most, share, whole)
    return rests, bounds, units


@compiled
def _gone_on(octets: Ints, rests: Mask, bounds: Ints, units: Floats, places: Places, whole: float) -> Mask:
    """Which records go on with a transfer of their edge's unit, where a step may consist of several."""
    low, high, _, cuts = places
    out = np.zeros(len(octets), np.bool_)
    for k in range(len(low)):
        own, steps = slice(low[k], high[k]), _steps(bounds[cuts[k] : cuts[k + 1]])
        if units[k] > 0 and _is_unit(octets[own], steps, units[k], whole):
            out[own] = continued(octets[own], rests[own], steps, units[k])
    return out


@compiled
def _steps(bounds: Ints) -> Ints:
    """What lies between some bounds; int64[n − 1, 2]."""
    out = np.empty((len(bounds) - 1, 2), np.int64)
    out[:, 0], out[:, 1] = bounds[:-1], bounds[1:]
    return out


@compiled
def borders(begin: Ints, end: Ints, times: Ints, until: int, reach: float) -> Ints:
    """The first record after each of some times, or after a rest within `reach` ns of it that is twice as long.

    That of the first time is over at `until`.
    """
    rest, done = np.full(len(begin) + 1, reach), end[0] if len(end) else 0  # longer ones are all as good
    for i in range(1, len(begin)):
        rest[i] = min(begin[i] - done, reach)
        done = max(done, end[i])
    out = np.empty(len(times), np.int64)
    for i in range(len(times)):
        at = out[i] = np.searchsorted(begin, times[i], "right")
        high = np.searchsorted(begin, times[i] + int(reach), "right")
        if i == 0:
            high = min(high, np.searchsorted(begin, until, "right"))
        for j in range(np.searchsorted(begin, times[i] - int(reach)), high):
            if rest[j] > max(2 * rest[at], rest[out[i]]):
                out[i] = j
    return out


@compiled
def rested(begin: Ints, end: Ints) -> Mask:
    """Whether a stream rested before each record, for longer than it usually sends one; records are in order of begin."""
    out = np.zeros(len(begin), np.bool_)
    wide = median(end - begin)
    done = end[0] if len(end) else 0
    for i in range(1, len(begin)):
        out[i] = begin[i] - done > wide
        done = max(done, end[i])
    return out


def unit_of(octets: NDArray[Any], rests: Mask, bounds: Ints) -> float:
    """Octets of one of the equal transfers that steps consist of; 0 where they do not.

    A step is the records between two `bounds`, int64[n, 2]; `rests` is where the stream rested before one. Of what moves
    between two rests the share `WHOLLY` is a transfer or one of two parts of one, which are not alike. Of the `MOST` common
    sizes of which a step is so many it is the smallest.
    """
    return _unit(octets, rests, bounds, MOST, WHOLLY, WHOLE)


@compiled
def _unit(octets: NDArray[Any], rests: Mask, bounds: Ints, most: int, share: float, whole: float) -> float:
    """`unit_of`; numba is slow to see which loop it is where arguments are left out."""
    runs, totals, n, steps = np.empty(len(octets) + len(bounds)), np.empty(len(bounds)), 0, 0
    for k in range(len(bounds)):
        first, last = bounds[k]
        if last - first < 2:
            continue
        totals[steps] = 0.0
        for i in range(first, last):
            if i == first or rests[i]:
                runs[n] = 0.0
                n += 1
            runs[n - 1] += octets[i]
            totals[steps] += octets[i]
        steps += 1
    if n == 0:
        return 0.0
    total, runs = median(totals[:steps]), np.sort(runs[:n])
    sizes = _common(runs, most)
    for size in sizes:
        times = total / max(size, 1.0)
        if round(times) < 2 or abs(times - round(times)) > whole:
            continue
        fit = 0
        for run in runs:
            other, alike = size - run, abs(size - run) <= NEAR * size
            for part in sizes:
                alike = alike or (abs(other - part) <= NEAR * size and abs(other - run) > NEAR * size)
            fit += alike
        if fit >= share * n:
            return float(total / round(times))
    return 0.0


@compiled
def _is_unit(octets: NDArray[Any], bounds: Ints, unit: float, whole: float) -> bool:
    """Whether a step may consist of several transfers of so many octets."""
    times = _usual(octets, bounds) / unit
    return round(times) > 1 and abs(times - round(times)) <= whole


@compiled
def _usual(octets: NDArray[Any], bounds: Ints) -> float:
    """The median octets of steps that move any, between some `bounds`; 0 without any."""
    totals, n = np.empty(len(bounds)), 0
    for k in range(len(bounds)):
        if bounds[k, 1] > bounds[k, 0]:
            totals[n] = octets[bounds[k, 0] : bounds[k, 1]].sum()
            n += 1
    return median(totals[:n])


@compiled
def _common(ordered: Floats, most: int) -> Floats:
    """The `most` common of sizes in ascending order, ascending: of those that are the same their median."""
    size, count, n, first = np.empty(len(ordered)), np.empty(len(ordered), np.int64), 0, 0
    for i in range(1, len(ordered) + 1):
        if i == len(ordered) or ordered[i] > ordered[first] * (1 + NEAR):
            size[n], count[n] = median(ordered[first:i]), i - first
            n += 1
            first = i
    if n <= most:
        return size[:n].copy()
    often = count[:n] >= np.sort(count[:n])[n - most]
    return np.asarray(size[:n][often])


@compiled
def continued(octets: NDArray[Any], rests: Mask, bounds: Ints, unit: float) -> Mask:
    """Which records go on with a transfer of `unit` octets after a rest in the middle of it."""
    out = np.zeros(len(octets), np.bool_)
    for k in range(len(bounds)):
        moved = 0.0
        for i in range(bounds[k, 0], bounds[k, 1]):
            part = moved / unit % 1.0
            out[i] = rests[i] and SHARE < part < 1 - SHARE
            moved += octets[i]
    return out
