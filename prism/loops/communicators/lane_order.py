"""Compute when lanes reach shares of their traffic, and join lanes that meet and belong together. Compiled loops over lanes."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.edges import Edge, Rows, activities, laid_out
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.medians import median

QUANTILES = (np.arange(400) + 0.5) / 400


class Course(NamedTuple):
    """Course of a lane: number of bursts, separated by gaps wider than `line`, ns; octets; cadence, ns.

    `busy`: share of its time in which it moves octets.
    """

    line: float
    bursts: int
    octets: int
    cadence: float
    busy: float


class Marks(NamedTuple):
    """Times, ns, at which lanes reached `shares` of their octets, and of their bursts. Ints by lane and share.

    Only `known` lanes (by octets, by bursts) are filled: most are never needed.
    """

    shares: Floats
    by_share: Ints
    by_burst: Ints
    known: Mask


class Lanes(NamedTuple):
    """Records of lanes, those of lane k at `low` to before `high`; its activity is at `cuts` k to k + 1.

    `busy`: activity before each of those times, ns. `rows`: rows of the records in the flows.
    """

    rows: Rows
    start: Ints
    end: Ints
    octets: Ints
    low: Ints
    high: Ints
    first: Ints
    last: Ints
    busy: Ints
    cuts: Ints


def side_by_side(edges: Collection[Edge]) -> Lanes:
    """Convert edges to lanes, numbered from 0."""
    of, low, high = laid_out(edges)
    (first, last), cuts = activities(edges)
    length = last - first
    return Lanes(*of, low, high, first, last, np.cumsum(length) - length, cuts)


def moves(edges: Collection[Edge]) -> tuple[Ints, Ints, Ints]:
    """Sender, receiver, and total octets of each edge."""
    src, dst, volume = [edge.src for edge in edges], [edge.dst for edge in edges], [edge.volume for edge in edges]
    return np.array(src, np.int64), np.array(dst, np.int64), np.array(volume, np.int64)


@compiled
def no_marks(n: int, shares: Floats) -> Marks:
    """Marks of `n` lanes, none of them known."""
    return Marks(shares, np.empty((n, len(shares)), np.int64), np.empty((n, len(shares)), np.int64), np.zeros((n, 2), np.bool_))


@compiled
def course(start: Ints, end: Ints, octets: Ints, active: Ints, rests: Ints) -> Course:
    """Compute the course of one lane from its records and its activity."""
    n = len(start)
    gap, reach = np.zeros(n - 1, np.int64), end[0]
    for i in range(1, n):
        gap[i - 1] = max(start[i] - reach, 0)
        reach = max(reach, end[i])
    line = parting(gap, end - start)
    apart, begun, bursts = np.empty(n - 1, np.int64), start[0], 1
    for i in range(1, n):
        apart[bursts - 1] = start[i] - begun
        if gap[i - 1] > line:
            begun = start[i]
            bursts += 1
    cadence = median(apart[: bursts - 1]) if bursts > 1 else float(reach - start[0])
    busy = (rests - active).sum() / max(rests[-1] - active[0], 1)
    return Course(line, bursts, octets.sum(), cadence, busy)


@compiled
def by_share(start: Ints, octets: Ints, shares: Floats) -> NDArray[np.int64]:
    """Times at which a lane reached ascending shares of its octets, ns."""
    out, total, at, grown = np.empty(len(shares), np.int64), octets.sum(), 0, octets[0]
    for k in range(len(shares)):
        while grown < shares[k] * total:
            at += 1
            grown += octets[at]
        out[k] = start[at]
    return out


@compiled
def by_burst(start: Ints, end: Ints, told: Course, shares: Floats) -> NDArray[np.int64]:
    """Times at which a lane reached shares of its bursts, ns."""
    starts, bursts, reach = np.empty(told.bursts, np.int64), 1, end[0]
    starts[0] = start[0]
    for i in range(1, len(start)):
        if max(start[i] - reach, 0) > told.line:
            starts[bursts] = start[i]
            bursts += 1
        reach = max(reach, end[i])
    out = np.empty(len(shares), np.int64)
    for k in range(len(shares)):
        out[k] = starts[min(int(shares[k] * bursts), bursts - 1)]
    return out


@compiled
def parting(gap: Ints, lasting: Ints, least: int = 3, clear: float = 10.0) -> float:
    """Gap that separates bursts: where sorted gaps rise most, with `least` of them above; 0 if all are alike.

    It is also 0 if they do not rise by the factor `clear` and all are wide compared with the duration of records `lasting`, ns:
    then every record is a burst, and a few pauses are wider than others.
    """
    low, high, many = np.zeros(65, np.int64), np.zeros(65, np.int64), np.zeros(65, np.int64)
    known = 0
    for one in gap:
        if one > 0:  # by powers of two: a rise of more than a factor of two separates two of them
            power = math.frexp(one)[1]
            low[power] = min(low[power], one) if many[power] else one
            high[power] = max(high[power], one)
            many[power] += 1
            known += 1
    line, most, lowest, before, count = 0.0, 2.0, 0, 0, 0
    for power in range(65):
        if many[power] and before and count <= known - least and low[power] / before > most:
            line, most = float(before), low[power] / before
        if many[power]:
            lowest, before, count = lowest or low[power], high[power], count + many[power]
    return 0.0 if line > 0 and most < clear and lowest > most * median(lasting) > 0 else line


@compiled
def close(lanes: Lanes, marks: Marks, one: int, other: int, a: Course, b: Course, near: float) -> bool:
    """Check whether two lanes are within `near` cadences in time, by octets or by bursts.

    `a`, `b`: their courses.
    """
    cadence = max(min(a.cadence, b.cadence), 1.0)
    if abs(math.log(a.octets / b.octets)) <= 0.02:
        for k in (one, other):
            if not marks.known[k, 0]:
                own = slice(lanes.low[k], lanes.high[k])
                marks.by_share[k], marks.known[k, 0] = by_share(lanes.start[own], lanes.octets[own], marks.shares), True
        if _mostly_within(marks.by_share[one], marks.by_share[other], cadence, near):
            return True
    if abs(a.bursts - b.bursts) > 0.02 * max(a.bursts, b.bursts):
        return False
    for k, told in ((one, a), (other, b)):
        if not marks.known[k, 1]:
            own = slice(lanes.low[k], lanes.high[k])
            marks.by_burst[k], marks.known[k, 1] = by_burst(lanes.start[own], lanes.end[own], told, marks.shares), True
    return _mostly_within(marks.by_burst[one], marks.by_burst[other], cadence, near)


@compiled
def _mostly_within(one: Ints, other: Ints, cadence: float, near: float) -> bool:
    """Check whether the median distance of times is at most `near` cadences."""
    most, within = int(near * cadence) + 1, 0
    while most / cadence > near:  # integers compare faster
        most -= 1
    for i in range(len(one)):
        within += abs(one[i] - other[i]) <= most
    if 2 * within == len(one):
        return median(np.abs(one - other)) / cadence <= near
    return bool(2 * within > len(one))


@compiled
def coincides(lanes: Lanes, a: int, b: int, least: float = 0.0) -> float:
    """Share of the octets of a lane that it moves while another is active, as `moved_within`; 0 if less than `least`."""
    begins, ends, own = lanes.cuts[b], lanes.cuts[b + 1], slice(lanes.low[a], lanes.high[a])
    first, last, busy = lanes.first[begins:ends], lanes.last[begins:ends], lanes.busy[begins:ends]
    starts, stops, sizes = lanes.start[own], lanes.end[own], lanes.octets[own]
    left = total = float(sizes.sum())
    k = j = -1
    moved, bar = 0.0, least * (1 - 1e-9) * total
    for i in range(len(starts)):
        if moved + left < bar:
            return 0.0
        start, end, octets = starts[i], stops[i], sizes[i]
        left -= octets
        while k + 1 < len(first) and first[k + 1] <= start:
            k += 1
        while j >= 0 and first[j] > end:
            j -= 1
        while j + 1 < len(first) and first[j + 1] <= end:
            j += 1
        if j < 0 or (k == j and start > last[k]):
            continue
        if end > start:
            before = busy[k] + min(start, last[k]) - first[k] if k >= 0 else busy[0]
            moved += (busy[j] + min(end, last[j]) - first[j] - before) / (end - start) * octets
        elif start <= last[k]:
            moved += octets
    return moved / total if total else 0.0


@compiled
def coincidences(lanes: Lanes, pairs: Ints) -> Floats:
    """Smaller one of the shares (`coincides`) of both lanes of each pair."""
    out = np.empty(len(pairs))
    for i in range(len(pairs)):
        out[i] = min(coincides(lanes, pairs[i, 0], pairs[i, 1]), coincides(lanes, pairs[i, 1], pairs[i, 0]))
    return out


@compiled
def _with(lanes: Lanes, one: int, other: int, a: Course, b: Course, threshold: float) -> bool:
    """Check whether a lane moves the share `threshold` of its octets, beyond chance, while another does; `a`, `b`: their
    courses.
    """
    busy = max(a.busy, b.busy)
    together = coincides(lanes, one, other, busy + threshold * (1 - busy))
    return bool((together - busy) / max(1 - busy, 1e-9) >= threshold)


@compiled
def _home(homes: Ints, lane: int) -> int:
    """Representative of a lane's set (union-find with path compression)."""
    while homes[lane] != lane:
        homes[lane] = homes[homes[lane]]
        lane = homes[lane]
    return lane


@compiled
def homes_of(pairs: Ints, n: int) -> Ints:
    """Representative of the set of each of `n` lanes, joined by pairs, int64[m, 2]."""
    homes = np.arange(n)
    for a, b in pairs:
        homes[_home(homes, a)] = _home(homes, b)
    return homes


@compiled
def joins(lanes: Lanes, homes: Ints, own: Ints, begins: Ints, shares: Floats, threshold: float, near: float) -> Ints:
    """Find pairs of lanes that meet at an endpoint and belong together, without pairs that are joined already; int64[n, 2].

    `homes` holds known sets, and all sets at the end. The lanes `own` of endpoint k are at `begins` k to k + 1. Two lanes
    belong together if they are within `near`, or each moves the share `threshold` of its octets, beyond chance, while the other
    does. Courses are compared at some `shares`.
    """
    n, many, marks = len(homes), 0, no_marks(len(homes), shares)
    line, bursts, octets = np.empty(n), np.zeros(n, np.int64), np.empty(n, np.int64)
    cadence, busy, found = np.empty(n), np.empty(n), np.empty((n, 2), np.int64)
    for k in range(len(begins) - 1):
        for i in range(begins[k], begins[k + 1]):
            one = own[i]
            home = _home(homes, one)
            for other in own[begins[k] : i]:
                if homes[other] == home or _home(homes, other) == home:
                    continue
                for a in (one, other):
                    if not bursts[a]:
                        at, to = slice(lanes.low[a], lanes.high[a]), slice(lanes.cuts[a], lanes.cuts[a + 1])
                        told = course(lanes.start[at], lanes.end[at], lanes.octets[at], lanes.first[to], lanes.last[to])
                        line[a], bursts[a], octets[a], cadence[a], busy[a] = told
                x = Course(line[one], bursts[one], octets[one], cadence[one], busy[one])
                y = Course(line[other], bursts[other], octets[other], cadence[other], busy[other])
                if close(lanes, marks, one, other, x, y, near) or (
                    _with(lanes, one, other, x, y, threshold) and _with(lanes, other, one, x, y, threshold)
                ):
                    homes[home] = _home(homes, other)
                    home = homes[home]
                    found[many] = one, other
                    many += 1
    return found[:many].copy()
