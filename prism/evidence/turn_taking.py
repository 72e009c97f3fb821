"""Turn-taking: whether the two directions of a pair move at once, as in an exchange, or in turn, as in a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism.evidence.step_period import Steps
from prism.evidence.streams import Stream

Floats = NDArray[np.float64]


def overlap(there: Sequence[Stream], back: Sequence[Stream]) -> float:
    """Share of the octets of either direction of a pair that move while the other moves too; of the two the lesser, 0 … 1."""
    return min(_met(there, back), _met(back, there))


def _met(own: Sequence[Stream], other: Sequence[Stream]) -> float:
    start, end, octets = (_joined(own, name) for name in ("start", "end", "octets"))
    begins, ends = _joined(other, "start"), _joined(other, "end")
    order = np.argsort(begins)
    begins, ends = begins[order], np.maximum.accumulate(ends[order])
    at = np.searchsorted(begins, end, "right") - 1
    met = (at >= 0) & (ends[np.maximum(at, 0)] >= start)
    return float(octets[met].sum() / octets.sum())


def lead(there: Sequence[Stream], back: Sequence[Stream], steps: Steps) -> float:
    """How long the k-th message of one direction of a pair begins before the k-th of the other, as a share of the step.

    Below 0 where `back` is ahead. A stage computes between an activation and its gradient, also while both directions are in
    use; in an exchange the k-th messages begin together. Where records are missing, steps count of which both have as many.
    """
    a, b = (np.sort(_joined(own, "start")) for own in (there, back))
    if len(a) != len(b):
        a, b = _paired(a, b, steps)
    return float(np.median(b - a)) / steps.period if len(a) else 0.0


def _paired(a: Floats, b: Floats, steps: Steps) -> tuple[Floats, Floats]:
    """The times of both in steps in which they are equally many."""
    number = [np.floor(steps.places(own)).astype(np.int64) for own in (a, b)]
    counts = [np.bincount(own, minlength=len(steps.bounds)) for own in number]
    alike = counts[0] == counts[1]
    return a[alike[number[0]]], b[alike[number[1]]]


def _joined(own: Sequence[Stream], name: str) -> Floats:
    return np.concatenate([getattr(s, name) for s in own]) if len(own) > 1 else getattr(own[0], name)
