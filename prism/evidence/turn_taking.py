"""Measure whether the two directions of a pair move at once (an exchange) or alternate (a pipeline)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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


def lead(forth: Sequence[Stream], back: Sequence[Stream], steps: Steps) -> float:
    """Median lead of the k-th message of one direction over the k-th of the other, as a share of the step.

    Negative if `back` leads. A stage computes between an activation and its gradient, even if both directions are active. In an
    exchange the k-th messages begin together. If records are missing, only steps with equal numbers of messages count.
    """
    a, b = (np.sort(_joined(own, "start")) for own in (forth, back))
    if len(a) != len(b):
        a, b = _paired(a, b, steps)
    ahead = np.sort(b - a)
    return float(ahead[(len(a) - 1) // 2] + ahead[len(a) // 2]) / 2 / steps.period if len(a) else 0.0


def _paired(a: Floats, b: Floats, steps: Steps) -> tuple[Floats, Floats]:
    """Select the times in steps in which both have the same number of messages."""
    number = [np.floor(steps.places(own)).astype(np.int64) for own in (a, b)]
    counts = [np.bincount(own, minlength=len(steps.bounds)) for own in number]
    alike = counts[0] == counts[1]
    return a[alike[number[0]]], b[alike[number[1]]]


def _joined(own: Sequence[Stream | Edge], name: str) -> Floats:
    return np.concatenate([getattr(s, name) for s in own]) if len(own) > 1 else getattr(own[0], name)
