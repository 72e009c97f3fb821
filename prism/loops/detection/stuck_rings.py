"""Find the rank that a ring waits for, if some of its lanes are inside hosts.

In a ring each rank sends its own part first, then the part of its neighbour, and so on. While all wait for one rank, the rank k
places behind it has sent k parts. So the octets sent by each show which rank delays the ring, even on an invisible lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import preceding
from prism.loops.arrays.intervals import Floats, Ints, closed, union
from prism.loops.arrays.medians import median
from prism.loops.detection.call_lateness import NEVER, Sent


class Waits(NamedTuple):
    """Waits of a whole ring for an edge's host: the edge, the step, the duration, ns; int64[n] each.

    `ahead` is the number of ranks from the slow rank to the sender on the edge, −1 if unknown.
    """

    edge: Ints
    step: Ints
    long: Ints
    ahead: Ints


NOTHING = Waits(*(np.zeros(0, np.int64) for _ in range(4)))


def waits(sent: Sent, ranks: Ints, begins: Ints, *, share: float = 0.01, alike: float = 0.05, now: int = 0) -> Waits:
    """Find waits of a ring. `sent` are the records on its edges between hosts, in the order of the ring.

    `ranks` is the number of ranks of the host at the start of each edge, `begins` the begins of the steps, ns. Only pauses of
    at least the `share` of a step count. Octets of two neighbours differ by as many parts as the second host has ranks, within
    the share `alike`; but an edge that waits for room at the slow rank may have sent less. In the last, incomplete step a pause
    may last until `now`, ns.
    """
    start, _, octets, cuts = sent
    if len(cuts) < 5 or len(begins) < 2 or not np.diff(cuts).all():
        return NOTHING
    since, until, step = _pauses(sent, begins, share, now)
    so_far = _moved(sent, since, begins, step)[0].astype(np.float64)
    moved = np.where(start < begins[-1], octets, 0) if now else octets
    whole = float(np.median(np.add.reduceat(moved, cuts[:-1]))) / max(len(begins) - (now > 0), 1)
    turns = 2 * (int(ranks.sum()) - 1)  # parts that each rank sends in a reduction
    first, part = _origins(so_far, ranks, whole / turns, alike)
    told = np.flatnonzero(first >= 0)
    first, part = first[told], part[told]
    calls = whole / turns / part  # calls per step, if they are equal
    parts = np.rint(so_far[first, told] / part).astype(np.int64) % turns
    known = (np.abs(calls - np.rint(calls)) <= alike * calls) & (parts < ranks[first])
    return Waits(first, step[told], (until - since)[told], np.where(known, parts, -1))


def kept(sent: Sent, begins: Ints, *, share: float = 0.001, alike: float = 0.05) -> Waits:
    """Find waits of a ring for one of its ranks, if all lanes are visible: the edge is the one on which it sends.

    It has sent least of all, while most have sent more. If several have, the wait is for the first to continue, and the wait
    for the others starts there. Octets differ within the share `alike` of a record. `ahead` is 0.
    """
    cuts = sent[-1]
    if len(cuts) < 4 or len(begins) < 2 or not np.diff(cuts).all():
        return NOTHING
    since, until, step = _pauses(sent, begins, share)
    so_far, goes_on = _moved(sent, since, begins, step)
    least = so_far.min(axis=0) + alike * median(sent[2])
    first = np.argmin(np.where(so_far <= least, goes_on, NEVER), axis=0)
    told = (so_far > least).mean(axis=0) > 0.5
    return Waits(first[told], step[told], (until - since)[told], np.zeros(int(told.sum()), np.int64))


def _pauses(sent: Sent, begins: Ints, share: float, now: int = 0) -> tuple[Ints, Ints, Ints]:
    """Find pauses of all edges of at least a share of a step: begin, end, ns, and the step of the end.

    The last pause may last until `now`.
    """
    starts, ends, _, cuts = sent
    life = float(max(int(ends.max()), now) - starts.min())
    least = share * (float(np.median(np.diff(begins[1:]))) if len(begins) > 2 else life)
    begin, end = union(*_apart(starts, ends, cuts, np.ceil(least) - 1))
    if now > end[-1]:
        begin, end = np.append(begin, now), np.append(end, now)
    pauses = np.flatnonzero(begin[1:] - end[:-1] >= least)
    since, until = end[pauses], begin[pauses + 1]
    return since, until, np.searchsorted(begins, until, "right") - 1


@compiled
def _apart(start: Ints, end: Ints, cuts: Ints, close: float) -> tuple[Ints, Ints]:
    """Busy times of each edge, merged over gaps up to `close` ns: in a longer pause of all, each edge pauses."""
    first, last, n = np.empty(len(start), np.int64), np.empty(len(start), np.int64), 0
    for edge in range(len(cuts) - 1):
        own = slice(cuts[edge], cuts[edge + 1])
        begin, done = closed(start[own], end[own], close)
        first[n : n + len(begin)], last[n : n + len(begin)] = begin, done
        n += len(begin)
    return first[:n].copy(), last[:n].copy()


@compiled
def _moved(sent: Sent, times: Ints, begins: Ints, step: Ints) -> tuple[Ints, Ints]:
    """Octets begun on each edge in a `step` before each of some times, and the next send; int64[edges, n] each."""
    starts, _, octets, cuts = sent
    moved, after = np.empty((2, len(cuts) - 1, len(times)), np.int64)
    for edge in range(len(cuts) - 1):
        start = starts[cuts[edge] : cuts[edge + 1]]
        before = np.append(0, np.cumsum(octets[cuts[edge] : cuts[edge + 1]]))
        known, at = before[preceding(start, begins, False)], preceding(start, times, False)
        for k in range(len(times)):
            moved[edge, k] = before[at[k]] - known[step[k]]
            after[edge, k] = start[at[k]] if at[k] < len(start) else NEVER
    return moved, after


@compiled
def _origins(so_far: Floats, ranks: Ints, most: float, alike: float) -> tuple[NDArray[np.intp], Floats]:
    """For each pause the edge from which octets grow by a part per rank, and the part, octets; −1 if none.

    A part is `most` octets at most. Of several edges it is the one that sent least.
    """
    n, pauses = so_far.shape
    out, least, part = np.full(pauses, -1), np.full(pauses, np.inf), np.zeros(pauses)
    grown = np.empty(n - 2)
    for k in range(pauses):
        for i in range(n):
            for j in range(n - 2):  # without the edge to its host
                one, other = (i + j) % n, (i + j + 1) % n
                grown[j] = (so_far[other, k] - so_far[one, k]) / ranks[other]
            usual = median(grown)
            fits = 0 < usual <= (1 + alike) * most and so_far[i, k] < least[k]
            if fits and (np.abs(grown - usual) <= alike * usual).all():
                out[k], least[k], part[k] = i, so_far[i, k], usual
    return out, part
