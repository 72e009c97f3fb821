"""Turn-taking: whether the two directions of a pair move at once, as in an exchange, or in turn, as in a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism.evidence.steps import Steps
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
    """How far one direction of a pair is ahead of the other, as a share of the step; below 0 where `back` is ahead.

    Activations begin and end before their gradients do; an exchange begins late where a rank is late, but ends together. So of
    the two leads, of the begins and of the ends, the smaller counts, and none where they disagree.
    """
    place = [steps.places(_joined(own, "start")) for own in (there, back)]
    step = [np.floor(at).astype(np.int64) for at in place]
    n = len(steps.bounds)
    first, last = [], []
    for at, number in zip(place, step, strict=True):
        low, high = np.full(n + 1, np.inf), np.full(n + 1, -np.inf)
        np.minimum.at(low, number, at)
        np.maximum.at(high, number, at)
        first.append(low)
        last.append(high)
    both = np.isfinite(first[0]) & np.isfinite(first[1])
    if both.sum() < 2:
        return 0.0
    begins, ends = (float(np.median(there[both] - back[both])) for back, there in (first, last))
    return float(np.sign(begins) * min(abs(begins), abs(ends))) if begins * ends > 0 else 0.0


def _joined(own: Sequence[Stream], name: str) -> Floats:
    return np.concatenate([getattr(s, name) for s in own]) if len(own) > 1 else getattr(own[0], name)
