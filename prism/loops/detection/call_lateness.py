"""Compute which rank begins late, call by call, if a step consists of many collective calls."""

from __future__ import annotations

import numpy as np

from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import preceding
from prism.loops.arrays.intervals import Floats, Ints, at_half
from prism.loops.periods.cut_volumes import gaps

# start and end, ns, and octets of the records of some edges, edge by edge, each sorted by start; and the bounds of the edges
Sent = tuple[Ints, Ints, Ints, Ints]
NEVER = np.iinfo(np.int64).max


def lateness(sent: Sent, begins: Ints, *, share: float = 0.1, least: int = 4) -> Floats | None:
    """Compute how much later than all others each edge of a ring began its calls, summed by step: float64[edges, steps], ns.

    A call begins where the edge that resumes least often does so after a gap of at least `share` of its usual gap. All edges
    move equal octets in a step, so that a call begins after about as many octets on each: at the widest gap near there. If a
    wider gap is a wait inside the call for a late rank, others wait as well, and no edge is later than all. `begins` are the
    begins of the steps, ns. NaN if an edge sent nothing; None if that edge makes fewer than `least` calls per step.
    """
    fewest, first = _fewest(sent, share)  # other edges also pause inside a call, to wait for a late rank
    start, _, octets = (column[slice(*sent[-1][fewest : fewest + 2])] for column in sent[:-1])
    step = np.searchsorted(begins, start[first], "right") - 1
    first, step = first[step >= 0], step[step >= 0]
    if len(first) < least * len(begins):
        return None
    before = np.concatenate([[0], np.cumsum(octets)])
    into = before[first] - before[np.searchsorted(start, begins)][step]  # octets of the step sent before each call
    slack = float(np.median(np.diff(before[first]))) / 4
    return _behind(_begun(sent, begins, step, into, slack), step, len(begins))


@compiled
def _fewest(sent: Sent, share: float) -> tuple[int, Ints]:
    """The edge that resumes least often after a gap of at least a share of its usual one, and the records at which it
    resumes, with the first.
    """
    start, end, octets, cuts = sent
    fewest, first = -1, np.zeros(0, np.int64)
    for edge in range(len(cuts) - 1):
        own = slice(cuts[edge], cuts[edge + 1])
        _, gap = gaps(start[own], end[own], octets[own])
        wide = gap >= max(share * at_half(gap, gap) if len(gap) else 0.0, 1.0)
        if fewest < 0 or np.count_nonzero(wide) + 1 < len(first):
            fewest, first = edge, np.append(0, np.flatnonzero(wide) + 1)
    return fewest, first


@compiled
def _begun(sent: Sent, begins: Ints, step: Ints, into: Ints, slack: float) -> Floats:
    """Time at which each edge resumed near each octet `into` a step, float64[edges, octets]; NaN if not in that step.

    Data that one edge sends before the begin of a step, another may send after it.
    """
    starts, ends, octets, cuts = sent
    out = np.full((len(cuts) - 1, len(step)), np.nan)
    for edge in range(len(cuts) - 1):
        own = slice(cuts[edge], cuts[edge + 1])
        start, (so_far, gap) = starts[own], gaps(starts[own], ends[own], octets[own])
        before = np.append(0, so_far)
        goals = before[preceding(start, begins, False)][step] + into
        low = preceding(before, np.ceil(goals - slack).astype(np.int64), False)
        high = preceding(before, np.floor(goals + slack).astype(np.int64), True)
        for k in range(len(step)):
            at = _widest(gap, low[k], min(high[k], len(start)))
            if at >= 0 and np.searchsorted(begins, start[at], "right") - 1 == step[k]:
                out[edge, k] = start[at]
    return out


@compiled
def _widest(gap: Ints, low: int, high: int) -> int:
    """The record from `low` to before `high` after the widest gap, or the very first of all; -1 if none."""
    if low == 0:
        return 0 if high > 0 else -1
    best = -1
    for i in range(low, high):
        if best < 0 or gap[i - 1] > gap[best - 1]:
            best = i
    return best


@compiled
def _behind(begun: Floats, step: Ints, steps: int) -> Floats:
    """Compute how much later than all others each edge began calls, summed by step: float64[edges, steps], ns.

    `begun` is the begin of each call on each edge, NaN if unknown; steps without a known call are NaN.
    """
    out, known = np.zeros((len(begun), steps)), np.zeros(steps, np.bool_)
    for call in range(len(step)):
        at = begun[:, call]
        if np.isnan(at).any():
            continue
        latest, before = at.argmax(), -np.inf
        for edge in range(len(at)):
            if edge != latest:
                before = max(before, at[edge])
        out[latest, step[call]] += at[latest] - before
        known[step[call]] = True
    out[:, ~known] = np.nan
    return out


@compiled
def firsts(times: Ints, cuts: Ints, begins: Ints) -> Floats:
    """Find the first of each edge's times in each step, ns, NaN if there is none: float64[edges, steps].

    Times of each edge are at `cuts`, as in `Sent`. A step lasts until the next of `begins`, inclusive.
    """
    first = np.full((len(cuts) - 1, len(begins)), NEVER)
    out = np.full(first.shape, np.nan)
    for edge in range(len(first)):
        for time in times[cuts[edge] : cuts[edge + 1]]:
            step = np.searchsorted(begins, time) - 1
            if step >= 0:
                first[edge, step] = min(first[edge, step], time)
        for step in range(len(begins)):
            if first[edge, step] != NEVER:
                out[edge, step] = first[edge, step]
    return out


@compiled
def first_of(start: Ints, end: Ints, begins: Ints) -> tuple[Floats, Floats]:
    """Start and end of the first of some sorted records in each step, as in `firsts`; NaN if there is none."""
    at = preceding(start, begins, True)
    since, until = np.full(len(begins), np.nan), np.full(len(begins), np.nan)
    for step in range(len(begins)):
        if at[step] < (at[step + 1] if step + 1 < len(begins) else len(start)):
            since[step], until[step] = start[at[step]], end[at[step]]
    return since, until
