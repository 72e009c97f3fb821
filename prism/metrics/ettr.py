"""Effective training time ratio (ETTR): the share of a job's time in which it trained, from its steps alone.

Reference: ByteRobust (SOSP 2025), section 2: productive training time over wall-clock time. Lost is: warm-up before the first
step, hangs, restarts, and steps that repeat what was lost since the last checkpoint. Slow steps, evaluation and checkpoints are
not lost; the last two are said beside.

Assumptions: a restart resumes from the last checkpoint that was seen. Where none was seen, nobody knows how many steps were
repeated: `ratio` counts none of them and `low` all. A warm-up begins with the job's first traffic; what a process does before
that is not on the wire. A silence of more than a usual step that is no evaluation, checkpoint or restart is a hang, also one
that was too short to be reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.model import Event, Finding, JobDiagnosis

Reason = Literal["warm-up", "hang", "crash", "restart", "repeated"]
Ints = NDArray[np.int64]
Stretch = tuple[int, int]  # begin and end, ns
ALIKE = 0.25  # of its length: by how much pauses of one kind may differ
TOUCH = 0.1  # of a usual step: what a hang must take of a step to count there
WINDOWS = 60  # points of the sliding ratio
SHARE = 10  # a window of the sliding ratio is so many points long


class Lost(NamedTuple):
    """A stretch that was lost, ns, and why."""

    start_ns: int
    end_ns: int
    reason: Reason


@dataclass(frozen=True)
class Ettr:
    """`ratio` 0 … 1 over the whole time; `low` is its lower bound where checkpoints are unknown. NaN with less than two steps.

    `at_ns` and `sliding` are the ratio in windows of `window_ns` that end at these times. `paused_ns` is evaluation and
    checkpoints, which count as effective.
    """

    ratio: float
    low: float
    start_ns: int
    end_ns: int
    lost: tuple[Lost, ...]
    paused_ns: int
    steps: int
    repeated: int
    window_ns: int
    at_ns: Ints
    sliding: NDArray[np.float64]

    def lost_ns(self, reason: Reason) -> int:
        """What one reason cost, ns."""
        return sum(one.end_ns - one.start_ns for one in self.lost if one.reason == reason)


def step_ends(job: JobDiagnosis) -> Ints:
    """When each step of the job ended, ns: the median over the ranks that have as many steps as most; int64[steps]."""
    counts = [len(own) for own in job.timeline.steps if len(own)]
    if not counts:
        return np.zeros(0, np.int64)
    most = max(set(counts), key=counts.count)
    ends = np.stack([own[:, 1] for own in job.timeline.steps if len(own) == most])
    return np.asarray(np.median(ends, axis=0), np.int64)


def ettr(job: JobDiagnosis, findings: Sequence[Finding] = (), *, until_ns: int | None = None, window_ns: int = 0) -> Ettr:
    """The ratio of one job. `until_ns` is the end of what was observed, which matters for a job that hangs or crashed."""
    own = [one for one in findings if one.job == job.job.id]
    return of_steps(
        step_ends(job),
        job.job.start_ns,
        job.job.end_ns,
        job.timeline.events,
        stops=[(one.start_ns, max(one.end_ns, one.start_ns), one.kind) for one in own if one.kind in ("hang", "crash")],
        silences=_silences(job),
        rests=job.timeline.unseen,
        until_ns=until_ns,
        window_ns=window_ns,
    )


def _silences(job: JobDiagnosis) -> Ints:
    """Times in which no rank of a job sent anything, ns, the long ones; int64[n, 2]."""
    spans = job.timeline.spans
    if not len(spans):
        return np.zeros((0, 2), np.int64)
    order = np.argsort(spans.start_ns, kind="stable")
    begins = spans.start_ns[order][1:]
    quiet = np.maximum.accumulate(spans.end_ns[order])[:-1]
    long = begins - quiet > 1_000_000
    return np.stack([quiet[long], begins[long]], axis=1)


def of_steps(
    ends: Ints,
    start_ns: int,
    end_ns: int,
    events: Sequence[Event] = (),
    *,
    stops: Sequence[tuple[int, int, str]] = (),
    silences: Ints | None = None,
    rests: Sequence[Stretch] = (),
    until_ns: int | None = None,
    window_ns: int = 0,
) -> Ettr:
    """The ratio from step ends, ns, in order; `stops` are begin, end and kind of hangs and crashes.

    `silences` int64[n, 2] are times in which the job sent nothing, `rests` those in which nothing was collected, ns.
    """
    restarts = [event for event in events if event.kind == "restart"]
    stuck = bool(stops) and until_ns is not None and bool(len(ends)) and _is_last(stops, restarts, int(ends[-1]))
    end = until_ns if stuck and until_ns is not None else end_ns
    paused = sum(event.end_ns - event.start_ns for event in events if event.kind in ("evaluation", "checkpoint"))
    if len(ends) < 2 or end <= start_ns:
        nothing = np.zeros(0)
        return Ettr(float("nan"), float("nan"), start_ns, end, (), paused, len(ends), 0, 0, nothing.astype(np.int64), nothing)
    usual = int(np.median(np.diff(ends)))
    start_ns = min(start_ns, int(ends[0] - min(usual, ends[1] - ends[0])))  # the first step computes before it sends
    hangs = [(low, high) for low, high, kind in stops if kind == "hang"]
    pauses = [event for event in events if event.kind in ("evaluation", "checkpoint")]
    quiet, free = _split(silences, pauses, rests, usual)
    lost = _stretches(ends, start_ns, usual, restarts, hangs + quiet, free)
    if stuck:
        lost.append(Lost(int(ends[-1]), end, "hang" if stops[-1][2] == "hang" else "crash"))
    again, unknown = _repeated(ends, restarts, events)
    begun = {one.start_ns: one.end_ns for one in lost}  # what a step lost to a restart counts once
    lost += [Lost(begun.get(int(ends[i - 1]), int(ends[i - 1])), int(ends[i]), "repeated") for i in again]
    lost = [one for one in lost if one.end_ns > one.start_ns]
    gone = sum(one.end_ns - one.start_ns for one in lost)
    ratio = float(np.clip(1 - gone / (end - start_ns), 0, 1))
    low = float(np.clip(ratio - unknown * usual / (end - start_ns), 0, 1))
    window = window_ns or max((end - start_ns) * SHARE // WINDOWS, 1)
    at = np.linspace(start_ns, end, WINDOWS + 1).astype(np.int64)[1:]
    sliding = _sliding(at, window, start_ns, lost)
    return Ettr(ratio, low, start_ns, end, tuple(sorted(lost)), paused, len(ends), len(again), window, at, sliding)


def _is_last(stops: Sequence[tuple[int, int, str]], restarts: Sequence[Event], last: int) -> bool:
    """Whether the job stopped for good: after its last step, and no restart follows."""
    begin = max(one[0] for one in stops)
    return begin >= last and not any(event.end_ns > begin for event in restarts)


def _split(
    silences: Ints | None, pauses: Sequence[Event], rests: Sequence[Stretch], usual: int
) -> tuple[list[Stretch], list[Stretch]]:
    """Silences longer than a usual step: those that nothing explains; and what is not lost: evaluations, checkpoints, `rests`.

    An evaluation or checkpoint is what an event reports, or a silence as long as one elsewhere in the job.
    """
    long = [] if silences is None else [(low, high) for low, high in silences.tolist() if high - low > usual]
    lengths = [one.end_ns - one.start_ns for one in pauses]
    given = [*((one.start_ns, one.end_ns) for one in pauses), *rests]
    reported = [any(begin < high and low < end for begin, end in given) for low, high in long]
    alike = [any(abs(high - low - length) < ALIKE * length for length in lengths) for low, high in long]
    free = [own for own, other, known in zip(long, alike, reported, strict=True) if other and not known]
    return [own for own, other, known in zip(long, alike, reported, strict=True) if not (other or known)], free + given


def _stretches(
    ends: Ints,
    start: int,
    usual: int,
    restarts: Sequence[Event],
    hangs: Sequence[Stretch],
    rests: Sequence[Stretch],
) -> list[Lost]:
    """What steps cost beyond a usual one, where something is known to have stopped them; `rests` are not lost."""
    out = []
    begins = np.concatenate([[start], ends[:-1]])
    for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        over = max(end - begin - usual, 0)
        if any(begin <= event.end_ns and event.start_ns < end for event in restarts):
            out.append(Lost(begin, begin + over, "restart"))
        elif i == 0:
            out.append(Lost(begin, begin + over, "warm-up"))
        else:
            seen = [min(high, end) for low, high in hangs if min(high, end) - max(low, begin) > TOUCH * usual]
            if seen:  # its end is seen: traffic goes on. Its begin is not: ranks finish what needs nobody else
                over -= sum(max(min(high, end) - max(low, begin), 0) for low, high in rests)
                at = max(max(seen) - max(over, 0), begin)
                out.append(Lost(at, at + max(over, 0), "hang"))
    return out


def _repeated(ends: Ints, restarts: Sequence[Event], events: Sequence[Event]) -> tuple[list[int], int]:
    """Places of steps that repeat earlier ones, and how many may do so where no checkpoint was seen."""
    again: list[int] = []
    unknown = 0
    for place, event in enumerate(restarts):
        since = restarts[place - 1].end_ns if place else -(1 << 62)
        saved = [one.end_ns for one in events if one.kind == "checkpoint" and since <= one.end_ns <= event.start_ns]
        before = int(((ends > (saved[-1] if saved else since)) & (ends <= event.start_ns)).sum())
        first = int(np.searchsorted(ends, event.start_ns, side="right"))
        left = len(ends) - first
        if saved:
            again += range(first, first + min(before, left))
        else:
            unknown += min(before, left)
    return again, unknown


def _sliding(at: Ints, window: int, start: int, lost: Sequence[Lost]) -> NDArray[np.float64]:
    begins = np.maximum(at - window, start)
    gone = np.zeros(len(at))
    for one in lost:
        gone += np.clip(np.minimum(at, one.end_ns) - np.maximum(begins, one.start_ns), 0, None)
    return 1 - gone / np.maximum(at - begins, 1)
