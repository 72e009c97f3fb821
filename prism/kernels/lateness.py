"""Who begins late, call by call, where one step consists of many collective calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism.kernels.intervals import Floats, Ints, weighted_median
from prism.kernels.rhythm import gaps

Sent = tuple[Ints, Ints, Ints]  # start and end, ns, and octets of what was sent on one edge, in order of start


def lateness(sent: Sequence[Sent], begins: Ints, *, share: float = 0.1, least: int = 4) -> Floats | None:
    """By how much each edge of a ring began its calls later than the ring, summed over each step: float64[edges, steps], ns.

    A call begins where the first edge resumes after a gap of at least `share` of its usual one. All edges move the same octets
    in a step, so that a call begins behind as many of them on each. `begins` are the steps' begins, ns. Who begins sooner
    counts as on time. NaN where an edge sent nothing; None where the first edge makes fewer than `least` calls a step.
    """
    start, end, octets = sent[0]
    edge, gap = gaps(start, end, octets)
    first = np.concatenate([[0], np.flatnonzero(gap >= max(share * weighted_median(gap, gap), 1.0)) + 1])
    step = np.searchsorted(begins, start[first], "right") - 1
    first, step = first[step >= 0], step[step >= 0]
    if len(first) < least * len(begins):
        return None
    before = np.concatenate([[0], edge])
    into = before[first] - before[np.searchsorted(start, begins)][step]  # octets of the step before each call
    begun = np.stack([_begun(own, begins, step, into) for own in sent])
    known = np.isfinite(begun).all(axis=0)
    late = np.where(known, begun - np.median(np.where(known, begun, 0), axis=0), 0.0)
    out = np.zeros((len(sent), len(begins)))
    np.add.at(out.T, step, late.T)
    return np.where(np.bincount(step[known], minlength=len(begins)) > 0, np.maximum(out, 0.0), np.nan)


def _begun(sent: Sent, begins: Ints, step: Ints, into: Ints) -> Floats:
    """When an edge sent the octet that is so far into a step; NaN where it was not in that step."""
    start, _, octets = sent
    before = np.concatenate([[0], np.cumsum(octets)])
    at = np.searchsorted(before, before[np.searchsorted(start, begins)][step] + into, "right") - 1
    inside = at < len(start)
    when = start[np.minimum(at, len(start) - 1)]
    inside &= np.searchsorted(begins, when, "right") - 1 == step
    return np.where(inside, when.astype(np.float64), np.nan)
