"""Measure whether the two directions of a pair move at once (an exchange) or alternate (a pipeline)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.step_period import Steps
from prism.evidence.streams import Stream
from prism.loops.arrays.edges import Edge

Floats = NDArray[np.float64]


def overlap(forth: Sequence[Stream | Edge], back: Sequence[Stream | Edge]) -> float:
    """Share of the octets of either direction of a pair that move while the other direction moves; the smaller share, 0 … 1."""
    one, other = (_in_time(own) for own in (forth, back))
    return min(_overlapped(*one, *other[:2]), _overlapped(*other, *one[:2]))


def _in_time(own: Sequence[Stream | Edge]) -> tuple[Floats, Floats, Floats]:
    """Start, end and octets of the records of streams, in order of start."""
    start, end, octets = (_joined(own, name) for name in ("start", "end", "octets"))
    if len(own) == 1:
        return start, end, octets
    order = start.argsort()
    return start[order], end[order], octets[order]


def _overlapped(start: Floats, end: Floats, octets: Floats, begins: Floats, ends: Floats) -> float:
    last = np.maximum.accumulate(ends)  # end of all that begin before
    at = begins.searchsorted(end, "right") - 1
    return float(octets[(at >= 0) & (last[at] >= start)].sum() / octets.sum())


def apart(forth: Sequence[Stream], back: Sequence[Stream], steps: Steps) -> float:
    """Median time between the k-th messages of both directions, as a share of the step.

    A stage computes between an activation and its gradient, even if both directions are active. In an exchange the k-th
    messages begin together. Steps of a pair begin after its longest pauses, wherever those of the job do.
    """
    a, b = (np.sort(_joined(own, "start")) for own in (forth, back))
    start = np.sort(np.concatenate([a, b]))
    longest = (start[1:] - start[:-1]).argsort()[-max(round(steps.count), 1) :]
    longest.sort()
    a, b = _paired(a, b, start[1 + longest])
    return _median(np.abs(b - a)) / steps.period if len(a) else 0.0


def lead(forth: Sequence[Stream], back: Sequence[Stream], steps: Steps) -> float:
    """Median lead of the k-th message of one direction over the k-th of the other, as a share of the step.

    Negative if `back` leads. If records are missing, only steps with equal numbers of messages count. A step of a pair begins
    in its longest pause near the bound of the job's step: the last messages of a step may follow it.
    """
    a, b = (np.sort(_joined(own, "start")) for own in (forth, back))
    if len(a) != len(b):
        start = np.sort(np.concatenate([a, b]))
        place = steps.places(start)
        bound = np.round((place[1:] + place[:-1]) / 2)
        near = np.flatnonzero(np.maximum(place[:-1] - bound, bound - place[1:]) < c.AROUND)
        near = near[np.lexsort((np.diff(place)[near], bound[near]))]
        a, b = _paired(a, b, start[1 + near[np.append(np.diff(bound[near]) > 0, True)[: len(near)]]])
    return _median(b - a) / steps.period if len(a) else 0.0


def behind(forth: Sequence[Stream], back: Sequence[Stream]) -> float:
    """Median distance of the k-th runs of messages of both directions, in distances of runs; 0 if their numbers differ.

    In an exchange the k-th runs begin together. A stage hands over after the other one did: its k-th run comes a run later,
    also where both send at once most of the time, as interleaved stages do.
    """
    one, other = (_runs(own) for own in (forth, back))
    if len(one) != len(other) or len(one) < c.FEW_SENDS:
        return 0.0
    return _median(np.abs(one - other)) / max(_median(one[1:] - one[:-1]), 1.0)


def _runs(own: Sequence[Stream]) -> Floats:
    """Starts of runs of messages: before each, nothing moves for `RUN_PAUSE` times the duration of a message."""
    start, end, _ = _in_time(own)
    pause = c.RUN_PAUSE * _median(end - start)
    begins = np.ones(len(start), np.bool_)
    begins[1:] = start[1:] - np.maximum.accumulate(end)[:-1] > pause
    return start[begins]


def _paired(a: Floats, b: Floats, begins: Floats) -> tuple[Floats, Floats]:
    """Select the times in parts with the same number of both; `begins`: of the parts but the first."""
    one, other = a.searchsorted(begins), b.searchsorted(begins)
    if len(a) == len(b) and (one == other).all():
        return a, b
    one, other = (np.concatenate([[0], places, [len(own)]]) for places, own in ((one, a), (other, b)))
    one, other = one[1:] - one[:-1], other[1:] - other[:-1]
    alike = one == other
    return a[alike.repeat(one)], b[alike.repeat(other)]


def _median(values: Floats) -> float:
    """Median of at least one value; for few values much faster than NumPy's."""
    ordered = values.copy()
    ordered.sort()
    return float(ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2


def _joined(own: Sequence[Stream | Edge], name: str) -> Floats:
    return np.concatenate([getattr(s, name) for s in own]) if len(own) > 1 else getattr(own[0], name)
