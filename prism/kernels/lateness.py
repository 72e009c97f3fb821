"""Who begins late, call by call, where one step consists of many collective calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.compiled import compiled
from prism.kernels.intervals import Floats, Ints, weighted_median
from prism.kernels.volumes import gaps

Sent = tuple[Ints, Ints, Ints]  # start and end, ns, and octets of what was sent on one edge, in order of start


def lateness(sent: Sequence[Sent], begins: Ints, *, share: float = 0.1, least: int = 4) -> Floats | None:
    """By how much each edge of a ring began its calls later than all others, summed over each step: float64[edges, steps], ns.

    A call begins where the edge that does so least often resumes after a gap of at least `share` of its usual one. All edges
    move the same octets in a step, so that a call begins behind about as many of them on each, where it resumes after the
    widest gap near there; or, where that is wider, where it waits inside the call for who is late: then others wait as well,
    and nobody is later than all. `begins` are the steps' begins, ns. NaN where an edge sent nothing; None where the edge that
    resumes least often makes fewer than `least` calls a step.
    """
    calls = [_calls(own, share) for own in sent]
    fewest = int(np.argmin([len(first) for first in calls]))  # others have pauses inside a call, too: they wait for who is late
    (start, _, octets), first = sent[fewest], calls[fewest]
    step = np.searchsorted(begins, start[first], "right") - 1
    first, step = first[step >= 0], step[step >= 0]
    if len(first) < least * len(begins):
        return None
    before = np.concatenate([[0], np.cumsum(octets)])
    into = before[first] - before[np.searchsorted(start, begins)][step]  # octets of the step before each call
    slack = np.median(np.diff(before[first])) / 4
    begun = np.stack([_begun(own, begins, step, into, slack) for own in sent])
    known = np.isfinite(begun).all(axis=0)
    begun = np.where(known, begun, 0)
    latest, next_to = np.argmax(begun, axis=0), np.sort(begun, axis=0)[-2]
    out = np.zeros((len(sent), len(begins)))
    np.add.at(out, (latest, step), begun.max(axis=0) - next_to)
    return np.where(np.bincount(step[known], minlength=len(begins)) > 0, out, np.nan)


def _calls(sent: Sent, share: float) -> Ints:
    """The records at which an edge resumes after a gap of at least a share of its usual one, and the first."""
    _, gap = gaps(*sent)
    return np.concatenate([[0], np.flatnonzero(gap >= max(share * weighted_median(gap, gap), 1.0)) + 1])


def _begun(sent: Sent, begins: Ints, step: Ints, into: Ints, slack: float) -> Floats:
    """When an edge resumed near the octet that is so far into a step; NaN where it was not in that step.

    Some of what one edge sends before a step begins another sends after that.
    """
    start, end, octets = sent
    before = np.concatenate([[0], np.cumsum(octets)])
    goal = before[np.searchsorted(start, begins)][step] + into
    low, high = np.searchsorted(before, goal - slack), np.searchsorted(before, goal + slack, "right")
    at = _widest(np.append(np.iinfo(np.int64).max, gaps(start, end, octets)[1]), low, np.minimum(high, len(start)))
    inside = at >= 0
    when = start[np.maximum(at, 0)]
    inside &= np.searchsorted(begins, when, "right") - 1 == step
    return np.where(inside, when.astype(np.float64), np.nan)


@compiled
def _widest(gap: Ints, low: Ints, high: Ints) -> Ints:
    """The record from each `low` up to before `high` that follows the widest gap; -1 where there is none."""
    out = np.full(len(low), -1)
    for k in range(len(low)):
        for i in range(low[k], high[k]):
            if out[k] < 0 or gap[i] > gap[out[k]]:
                out[k] = i
    return out
