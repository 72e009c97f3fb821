"""Whom everybody waits for when a job falls silent in the middle of a step: whoever should have spoken first.

Other steps tell in which order everything is sent. What was not sent yet when the job fell silent waits, directly or not, for
what comes first of it in those steps: an operation never comes before one that it depends on. Its sender hung, unless it was
in the middle of a transfer, which stands where the receiver does. Where a rank is gone, what was sent to it may be gone too:
then of both ends it is the one whose own traffic explains more, without which what is left was due later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.record import Flows
from prism.kernels.edges import sending
from prism.kernels.intervals import Ints

Floats = NDArray[np.float64]


class Cut(NamedTuple):
    """A step that was cut short: each rank's share of votes that it was due first, and whether it had begun the step.

    `votes` and `begun` are [ranks]; `moved` is the share of the step's octets that had moved.
    """

    votes: Floats
    begun: NDArray[np.bool_]
    moved: float


def overdue(
    flows: Flows, codes: Ints, like: Ints, since: Ints, until: int, *, gone: bool, slack: float = 0.005
) -> Cut:
    """What the silence that began at `until`, ns, left undone of the step that each rank began at `since`, ns, int64[ranks].

    `codes` are the ranks' endpoints, `like` begins and ends of the steps it is compared with, ns, int64[ranks, n, 2]. Of a
    stream that moved all but the share `slack` nothing is due. `gone`: the job did not go on on the same connections.
    """
    start, control = sending(flows), flows.control()
    place = np.full(len(flows.endpoints), -1)
    place[codes] = np.arange(len(codes))
    inside = np.flatnonzero((place[flows.src] >= 0) & (place[flows.dst] >= 0) & (flows.octets > 0))
    key = (flows.src[inside].astype(np.int64) * len(place) + flows.dst[inside]) * 2 + control[inside]
    by = np.lexsort((start[inside], key))
    streams = np.split(inside[by], np.flatnonzero(np.diff(key[by])) + 1)
    zero = np.min(like[:, :, 0], axis=0)
    due, first = (np.full((len(streams), like.shape[1]), np.inf) for _ in range(2))
    halfway = np.zeros(due.shape, np.bool_)
    ends = np.array([(place[flows.src[rows[0]]], place[flows.dst[rows[0]]]) for rows in streams])
    moved = usual = 0.0
    for i, rows in enumerate(streams):
        begin, end = start[rows], flows.end_ns[rows]
        bounds = np.searchsorted(begin, like[ends[i, 0]], "right")
        told = bool(control[rows[0]])
        octets = np.ones(len(rows)) if told else flows.octets[rows].astype(np.float64)
        size = octets if told else _steady(begin, end, octets, bounds, 4 * slack)
        low, high = np.searchsorted(begin, [since[ends[i, 0]], until], "right")
        done = float(size[low:high].sum())
        count = np.diff(bounds, axis=1)
        for k, (a, b) in enumerate(bounds.tolist()):
            if a < b and not (told and np.ptp(count)):  # words near a step's border fall on either side of it
                first[i, k] = begin[a] - zero[k]
                due[i, k], halfway[i, k] = _due(begin[a:b] - zero[k], end[a:b] - zero[k], size[a:b], done, slack)
        if not told:
            moved += float(octets[low:high].sum())
            usual += float(np.median([octets[a:b].sum() for a, b in bounds.tolist()]))
    begun = [np.mean(_least(due, ends[:, 0] == r) > _least(first, ends[:, 0] == r)) > 0.5 for r in range(len(codes))]
    return Cut(_votes(due, halfway, ends, len(codes), gone=gone), np.array(begun, np.bool_), moved / usual if usual else 0.0)


def _steady(begin: Ints, end: Ints, octets: Floats, bounds: Ints, slack: float) -> Floats:
    """What each record counts: its octets, or where these vary from step to step, its part of a run of records."""
    total = np.array([octets[a:b].sum() for a, b in bounds.tolist()])
    if not len(total) or np.ptp(total) <= slack * np.median(total):
        return octets
    pause = begin[1:] - np.maximum.accumulate(end)[:-1]
    run = np.concatenate([[0], np.cumsum(pause > np.median(end - begin))])
    return np.asarray(1.0 / np.bincount(run)[run], dtype=np.float64)


def _due(start: Ints, end: Ints, size: Floats, done: float, slack: float) -> tuple[float, bool]:
    """When a stream that moves `size` would go on after `done`, on the clock of its records, and whether that is in a transfer.

    Infinite where it is through. What lacks less than half a record of one may be a record counted otherwise.
    """
    total = np.cumsum(size)
    if done >= total[-1] * (1 - slack):
        return np.inf, False
    near = min(slack * total[-1], float(np.median(size)) / 2)
    i = min(int(np.searchsorted(total, done + near, "right")), len(total) - 1)
    part = float(np.clip((done + near - (total[i] - size[i])) / size[i], 0.0, 1.0))
    part = 0.0 if part * size[i] <= 2 * near else part
    straight = i > 0 and start[i] - end[i - 1] <= np.median(end - start)
    return float(start[i] + part * (end[i] - start[i])), bool(part > 0 or straight)


def _least(times: Floats, which: NDArray[np.bool_]) -> Floats:
    """The earliest of some streams' times by step; infinite without any."""
    return np.asarray(np.min(times[which], axis=0, initial=np.inf), dtype=np.float64)


def _votes(due: Floats, halfway: NDArray[np.bool_], ends: Ints, ranks: int, *, gone: bool, sure: float = 0.9) -> Floats:
    """Each rank's share of the steps in which it is to blame for what was due first.

    Times of the same operation of several ranks may be too near to one another to tell which was first; a rank that is at one
    end in `sure` of the steps, and nobody else in more than half of them, is to blame.
    """
    blamed, either = np.zeros(ranks), np.zeros(ranks)
    for k in np.flatnonzero(np.isfinite(due).any(axis=0)).tolist():
        times = due[:, k]
        i = int(np.argmin(times))
        a, b = ends[i]
        without = [np.min(times[(ends != one).all(axis=1)], initial=np.inf) for one in (a, b)]
        blamed[b if halfway[i, k] or (gone and without[0] < without[1]) else a] += 1 / due.shape[1]
        either[[a, b]] += 1 / due.shape[1]
    second, top = np.sort(either)[-2:]
    return either * (either >= sure) if top >= sure and second <= 0.5 else blamed
