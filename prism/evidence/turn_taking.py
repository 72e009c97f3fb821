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
    one, other = (tuple(_joined(own, name) for name in ("start", "end", "octets")) for own in (forth, back))
    return min(_overlapped(*one, *other[:2]), _overlapped(*other, *one[:2]))


def _overlapped(start: Floats, end: Floats, octets: Floats, begins: Floats, ends: Floats) -> float:
    order = begins.argsort()
    last = np.maximum.accumulate(ends[order])  # end of all that begin before
    at = begins[order].searchsorted(end, "right") - 1
    return float(octets[(at >= 0) & (last[at] >= start)].sum() / octets.sum())


def lead(forth: Sequence[Stream], back: Sequence[Stream], steps: Steps) -> float:
    """Median lead of the k-th message of one direction over the k-th of the other, as a share of the step.

    Negative if `back` leads. A stage computes between an activation and its gradient, even if both directions are active. In an
    exchange the k-th messages begin together. Only parts between the longest pauses count, if both directions have the same
    number of messages: a recording begins and ends at any message, and the bounds of steps may lie between two of them.
    """
    starts = [_joined(own, "start") for own in (forth, back)]
    start = np.concatenate(starts)
    order = np.argsort(start)
    returns = order >= len(starts[0])
    pause = np.diff(start[order])
    number = np.zeros(len(order), np.int64)
    number[1 + np.argsort(-pause, kind="stable")[: max(round(steps.count), 1)]] = 1
    number = np.cumsum(number)
    alike = np.bincount(number, ~returns) == np.bincount(number, returns)
    a, b = (start[order[alike[number] & (returns == way)]] for way in (False, True))
    return float(np.median(b - a)) / steps.period if len(a) else 0.0


def _joined(own: Sequence[Stream | Edge], name: str) -> Floats:
    return np.concatenate([getattr(s, name) for s in own]) if len(own) > 1 else getattr(own[0], name)
