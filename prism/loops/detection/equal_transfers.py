"""Detect transfers of equal size: a stream that stops within one waits for its receiver.

A sender may send some octets before the receiver is ready (a window, the slots of a buffer), and the rest afterwards. So octets
between two rests are a transfer, its first part, or its remainder.
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

NEAR = 0.005  # relative difference below which sizes are equal
SHARE = 0.02  # share of a transfer below which a part does not count
MOST, WHOLLY, WHOLE = (
    16,
    0.7,
    0.05,
)  # sizes to examine; share of octet counts that must be transfers; tolerance of their number per step


def gone_on(edges: Sequence[Edge], steps: Sequence[Ints], period: float, *, border: float = 0.05) -> NDArray[np.intp]:
    """Find the rows of some edges with which transfers continue after a rest within them.

    `steps` are those of each edge's sender, ns, int64[n, 2]; borders may be inexact by the share `border` of the period.
    """
    if not edges:
        return np.zeros(0, np.intp)
    of, low, high = laid_out(edges)
    times, cuts = on_end([np.append(own[0, 0] - 1, own[:, 1]) for own in steps])
    places = Places(low, high, times, cuts)
    rests, bounds, every = _units(of.start, of.end, of.octets, places, border * period, MOST, WHOLLY, WHOLE)
    units = Counter(unit for unit in every.tolist() if unit)
    usual = units.most_common(1)[0][0] if units else 0.0  # if an edge always splits transfers, other edges show the size
    return of.rows[_gone_on(of.octets, rests, bounds, np.where(every > 0, every, usual), places, WHOLE)]


class Places(NamedTuple):
    """Records of some edges, at `low` to before `high`, and the borders of their steps, at `times[cuts[k]:cuts[k + 1]]`."""

    low: Ints
    high: Ints
    times: Ints
    cuts: Ints


@compiled
def _units(
    begin: Ints, end: Ints, octets: Ints, places: Places, reach: float, most: int, share: float, whole: float
) -> tuple[Mask, Ints, Floats]:
    """Compute rests of edges, borders of their steps, and the unit of each edge."""
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
    """Mask of the records that continue a transfer of their edge's unit, if a step may consist of several."""
    low, high, _, cuts = places
    out = np.zeros(len(octets), np.bool_)
    for k in range(len(low)):
        own, steps = slice(low[k], high[k]), _steps(bounds[cuts[k] : cuts[k + 1]])
        if units[k] > 0 and _is_unit(octets[own], steps, units[k], whole):
            out[own] = continued(octets[own], rests[own], steps, units[k])
    return out


@compiled
def _steps(bounds: Ints) -> Ints:
    """Ranges between consecutive bounds; int64[n − 1, 2]."""
    out = np.empty((len(bounds) - 1, 2), np.int64)
    out[:, 0], out[:, 1] = bounds[:-1], bounds[1:]
    return out


@compiled
def borders(begin: Ints, end: Ints, times: Ints, until: int, reach: float) -> Ints:
    """First record after each time, or after a rest within `reach` ns of it that is twice as long.

    The record of the first time begins before `until`.
    """
    rest, done = np.full(len(begin) + 1, reach), end[0] if len(end) else 0  # longer rests are equivalent
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
    """Mask: whether a stream rested before each record for longer than the median duration of one; records sorted by begin."""
    out = np.zeros(len(begin), np.bool_)
    wide = median(end - begin)
    done = end[0] if len(end) else 0
    for i in range(1, len(begin)):
        out[i] = begin[i] - done > wide
        done = max(done, end[i])
    return out


def unit_of(octets: NDArray[Any], rests: Mask, bounds: Ints) -> float:
    """Compute the octets of one of the equal transfers that steps consist of; 0 if they do not.

    A step is the records between two `bounds`, int64[n, 2]; `rests` marks rests before records. The share `WHOLLY` of the octet
    counts between rests must be a transfer or one of two unequal parts of one. Of the `MOST` common sizes that divide a step it
    is the smallest.
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
    """Whether a step may consist of several transfers of `unit` octets."""
    times = _usual(octets, bounds) / unit
    return round(times) > 1 and abs(times - round(times)) <= whole


@compiled
def _usual(octets: NDArray[Any], bounds: Ints) -> float:
    """Median octets of non-empty steps between some `bounds`; 0 if there is none."""
    totals, n = np.empty(len(bounds)), 0
    for k in range(len(bounds)):
        if bounds[k, 1] > bounds[k, 0]:
            totals[n] = octets[bounds[k, 0] : bounds[k, 1]].sum()
            n += 1
    return median(totals[:n])


@compiled
def _common(ordered: Floats, most: int) -> Floats:
    """The `most` common of ascending sizes, ascending; similar sizes count as their median."""
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
    """Mask of the records that continue a transfer of `unit` octets after a rest within it."""
    out = np.zeros(len(octets), np.bool_)
    for k in range(len(bounds)):
        moved = 0.0
        for i in range(bounds[k, 0], bounds[k, 1]):
            part = moved / unit % 1.0
            out[i] = rests[i] and SHARE < part < 1 - SHARE
            moved += octets[i]
    return out
