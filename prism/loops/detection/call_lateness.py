"""Who begins late, call by call, where one step consists of many collective calls."""

from __future__ import annotations

import numpy as np

from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import preceding
from prism.loops.arrays.intervals import Floats, Ints, at_half
from prism.loops.periods.cut_volumes import gaps

# start and end, ns, and octets of what was sent on some edges, one edge after another, each in order of start; and where each
# begins and the last ends
Sent = tuple[Ints, Ints, Ints, Ints]
NEVER = np.iinfo(np.int64).max


def lateness(sent: Sent, begins: Ints, *, share: float = 0.1, least: int = 4) -> Floats | None:
    """By how much each edge of a ring began its calls later than all others, summed over each step: float64[edges, steps], ns.

    A call begins where the edge that does so least often resumes after a gap of at least `share` of its usual one. All edges
    move the same octets in a step, so that a call begins behind about as many of them on each, where it resumes after the
    widest gap near there; or, where that is wider, where it waits inside the call for who is late: then others wait as well,
    and nobody is later than all. `begins` are the steps' begins, ns. NaN where an edge sent nothing; None where the edge that
    resumes least often makes fewer than `least` calls a step.
    """
    fewest, first = _fewest(sent, share)  # others have pauses inside a call, too: they wait for who is late
    start, _, octets = (column[slice(*sent[-1][fewest : fewest + 2])] for column in sent[:-1])
    step = np.searchsorted(begins, start[first], "right") - 1
    first, step = first[step >= 0], step[step >= 0]
    if len(first) < least * len(begins):
        return None
    before = np.concatenate([[0], np.cumsum(octets)])
    into = before[first] - before[np.searchsorted(start, begins)][step]  # octets of the step before each call
    slack = float(np.median(np.diff(before[first]))) / 4
    return _behind(_begun(sent, begins, step, into, slack), step, len(begins))


@compiled
def _fewest(sent: Sent, share: float) -> tuple[int, Ints]:
    """The edge that resumes least often after a gap of at least a share of its usual one, and the records at which it does,
    and the first.
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
    """When each edge resumed near each octet that is so far into a step, float64[edges, octets]; NaN where not in that step.

    Some of what one edge sends before a step begins another sends after that.
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
    """The record from `low` up to before `high` that follows the widest gap, the very first of all sooner; -1 for none."""
    if low == 0:
        return 0 if high > 0 else -1
    best = -1
    for i in range(low, high):
        if best < 0 or gap[i - 1] > gap[best - 1]:
            best = i
    return best


@compiled
def _behind(begun: Floats, step: Ints, steps: int) -> Floats:
    """By how much each edge began calls later than all others, summed over each step: float64[edges, steps], ns.

    `begun` is when each began each call, NaN where that is not known, and so are steps without a call that is known.
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
    """The first of an edge's times in each step, ns, NaN where there is none: float64[edges, steps].

    Those of each edge are at `cuts`, as in `Sent`; a step goes on until the next one `begins`, that time included.
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
    """Start and end of the first of some records, in order of start, in each step, as in `firsts`; NaN where there is none."""
    at = preceding(start, begins, True)
    since, until = np.full(len(begins), np.nan), np.full(len(begins), np.nan)
    for step in range(len(begins)):
        if at[step] < (at[step + 1] if step + 1 < len(begins) else len(start)):
            since[step], until[step] = start[at[step]], end[at[step]]
    return since, until
