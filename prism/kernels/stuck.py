"""Whom a ring waits for, where some of its lanes are inside hosts.

In a ring each rank sends its own part first, then what its neighbour gave it, which was its neighbour's own, and so on: while
all wait for one, the rank k places behind it has sent k parts. So what each has sent tells who keeps them waiting, on whatever
lane that would show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.kernels.intervals import Ints, union
from prism.kernels.lateness import Sent

Floats = NDArray[np.float64]


class Waits(NamedTuple):
    """Times at which a whole ring waited for an edge's host: the edge, the step, for how long, ns; int64[n] each.

    `ahead` is how many ranks before the one that sends on the edge the slow one is, −1 where that is not known.
    """

    edge: Ints
    step: Ints
    long: Ints
    ahead: Ints


NOTHING = Waits(*(np.zeros(0, np.int64) for _ in range(4)))


def waits(sent: Sequence[Sent], ranks: Ints, begins: Ints, *, share: float = 0.01, alike: float = 0.05, now: int = 0) -> Waits:
    """Times at which a ring waited. `sent` is what was sent on its edges from host to host, in the order of the ring.

    `ranks` is how many ranks the host has from which each edge leaves, `begins` are the steps' begins, ns. Pauses are asked
    that last at least the `share` of a step. What two neighbours have sent differs by as many parts as the second one's host
    has ranks, within the share `alike`; but what waits for room at the slow one may have sent less. A pause may last until
    `now`, ns, in the last of the steps, which goes on.
    """
    if len(sent) < 4 or len(begins) < 2 or not all(len(own[0]) for own in sent):
        return NOTHING
    since, until, step = _pauses(sent, begins, share, now)
    so_far = np.stack([_moved(own, since) - _moved(own, begins)[step] for own in sent]).astype(np.float64)
    over = max(len(begins) - (now > 0), 1)
    whole = np.median([own[2][own[0] < begins[-1]].sum() if now else own[2].sum() for own in sent]) / over
    turns = 2 * (int(ranks.sum()) - 1)  # parts that each rank sends in a reduction
    first, part = _origins(so_far, ranks, whole / turns, alike)
    told = np.flatnonzero(first >= 0)
    first, part = first[told], part[told]
    calls = whole / turns / part  # in a step, if they are equal
    parts = np.rint(so_far[first, told] / part).astype(np.int64) % turns
    known = (np.abs(calls - np.rint(calls)) <= alike * calls) & (parts < ranks[first])
    return Waits(first, step[told], (until - since)[told], np.where(known, parts, -1))


def kept(sent: Sequence[Sent], begins: Ints, *, share: float = 0.001, alike: float = 0.05) -> Waits:
    """Times at which a ring waited for one of its ranks, all of whose lanes are seen: the edge is the one on which it sends.

    Of all it has sent least, while most have sent more; of several that have, the wait is for the first to go on, and that for
    the others begins there. What is sent differs within a share `alike` of a record. `ahead` is 0.
    """
    if len(sent) < 3 or len(begins) < 2 or not all(len(own[0]) for own in sent):
        return NOTHING
    since, until, step = _pauses(sent, begins, share)
    so_far = np.stack([_moved(own, since) - _moved(own, begins)[step] for own in sent])
    least = so_far.min(axis=0) + alike * float(np.median(np.concatenate([own[2] for own in sent])))
    goes_on = np.stack([np.append(own[0], np.iinfo(np.int64).max)[np.searchsorted(own[0], since)] for own in sent])
    first = np.argmin(np.where(so_far <= least, goes_on, np.iinfo(np.int64).max), axis=0)
    told = (so_far > least).mean(axis=0) > 0.5
    return Waits(first[told], step[told], (until - since)[told], np.zeros(int(told.sum()), np.int64))


def _pauses(sent: Sequence[Sent], begins: Ints, share: float, now: int = 0) -> tuple[Ints, Ints, Ints]:
    """When nothing was sent on any edge for at least a share of a step: since when, until when, ns, and the step of the end.

    The last one may go on `now`.
    """
    starts, ends = (np.concatenate([own[i] for own in sent]) for i in (0, 1))
    begin, end = union(starts, ends)
    if now > end[-1]:
        begin, end = np.append(begin, now), np.append(end, now)
    period = float(np.median(np.diff(begins[1:]))) if len(begins) > 2 else float(end[-1] - begin[0])
    pauses = np.flatnonzero(begin[1:] - end[:-1] >= share * period)
    since, until = end[pauses], begin[pauses + 1]
    return since, until, np.searchsorted(begins, until, "right") - 1


def _moved(sent: Sent, times: Ints) -> Ints:
    """How many octets of what began on an edge before each of some times."""
    start, _, octets = sent
    return np.concatenate([[0], np.cumsum(octets)])[np.searchsorted(start, times)]


def _origins(so_far: Floats, ranks: Ints, most: float, alike: float) -> tuple[NDArray[np.intp], Floats]:
    """Of each pause the edge from which on what was sent grows by a part for each rank, and the part, octets; −1 without one.

    A part is `most` octets at most. Of several edges it is the one that sent least.
    """
    n, pauses = so_far.shape
    out, least, part = np.full(pauses, -1), np.full(pauses, np.inf), np.zeros(pauses)
    for i in range(n):
        turn = np.roll(np.arange(n), -i)[:-1]  # but for the edge that leads to its host
        grown = np.diff(so_far[turn], axis=0) / ranks[turn[1:], None]
        one = np.median(grown, axis=0)
        fits = (one > 0) & (one <= (1 + alike) * most) & (np.abs(grown - one) <= alike * one).all(axis=0)
        fits &= so_far[i] < least
        out[fits], least[fits], part[fits] = i, so_far[i][fits], one[fits]
    return out, part
