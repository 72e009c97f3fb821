"""Effective training time ratio (ETTR): the share of a job's time in which it trained, from its steps alone.

Reference: ByteRobust (SOSP 2025), section 2: productive training time over wall-clock time. Lost time is: warm-up before the
first step, hangs, restarts, and steps repeated after a restart. Slow steps, evaluation and checkpoints are not lost; the last
two are reported separately.

Assumptions: a restart resumes from the last visible checkpoint. Without a visible checkpoint the number of repeated steps is
unknown: `ratio` counts none of them and `low` all. A warm-up starts with the job's first traffic; earlier activity of a process
is not visible. A silence of more than a usual step that is no evaluation, checkpoint or restart is a hang, also one that was
too short to be reported.
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
Stretch = tuple[int, int]  # start and end, ns
MAX_PAUSE_DIFFERENCE = 0.25  # maximum difference of pauses of one kind, relative to their length
MIN_STEP_SHARE = 0.1  # minimum share of a usual step that a hang must cover to count in that step
WINDOWS = 60  # points of the sliding ratio
SHARE = 10  # points per window of the sliding ratio


class Lost(NamedTuple):
    """A lost time range, ns, and its reason."""

    start_ns: int
    end_ns: int
    reason: Reason


@dataclass(frozen=True)
class Ettr:
    """Effective training time ratio.

    `ratio` 0 … 1; `low`: lower bound without known checkpoints. NaN with fewer than two steps.

    `sliding`: ratio in windows of `window_ns` that end at `at_ns`. `paused_ns`: evaluation and checkpoints, counted as
    effective.
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
        """Sum the loss of one reason, ns."""
        return sum(one.end_ns - one.start_ns for one in self.lost if one.reason == reason)


def step_ends(job: JobDiagnosis) -> Ints:
    """Compute the end of each step of the job, ns: median over the ranks with the usual number of steps; int64[steps]."""
    counts = [len(own) for own in job.timeline.steps if len(own)]
    if not counts:
        return np.zeros(0, np.int64)
    most = max(set(counts), key=counts.count)
    ends = np.stack([own[:, 1] for own in job.timeline.steps if len(own) == most])
    return np.asarray(np.median(ends, axis=0), np.int64)


def ettr(job: JobDiagnosis, findings: Sequence[Finding] = (), *, until_ns: int | None = None, window_ns: int = 0) -> Ettr:
    """Compute the ratio of one job. `until_ns`: end of the observation, which matters for hangs and crashes."""
    own = [one for one in findings if one.job == job.job.id]
    return ettr_of_steps(
        step_ends(job),
        job.job.start_ns,
        job.job.end_ns,
        job.timeline.events,
        stops=[(one.start_ns, max(one.end_ns, one.start_ns), one.kind) for one in own if one.kind in ("hang", "crash")],
        silences=_silences(job),
        uncollected=job.timeline.unseen,
        until_ns=until_ns,
        window_ns=window_ns,
    )


def _silences(job: JobDiagnosis) -> Ints:
    """List long times in which no rank of a job sent anything, ns; int64[n, 2]."""
    spans = job.timeline.spans
    if not len(spans):
        return np.zeros((0, 2), np.int64)
    order = np.argsort(spans.start_ns, kind="stable")
    begins = spans.start_ns[order][1:]
    quiet = np.maximum.accumulate(spans.end_ns[order])[:-1]
    long = begins - quiet > 1_000_000
    return np.stack([quiet[long], begins[long]], axis=1)


def ettr_of_steps(
    ends: Ints,
    start_ns: int,
    end_ns: int,
    events: Sequence[Event] = (),
    *,
    stops: Sequence[tuple[int, int, str]] = (),
    silences: Ints | None = None,
    uncollected: Sequence[Stretch] = (),
    until_ns: int | None = None,
    window_ns: int = 0,
) -> Ettr:
    """Compute the effective training time ratio from step ends.

    Parameters
    ----------
    ends : int64[steps]
        Sorted step ends, ns since the epoch.
    start_ns, end_ns : int
        First and last time of the job, ns.
    events : sequence of Event
        Evaluations, checkpoints and restarts.
    stops : sequence of (int, int, str)
        Start, end and kind of hangs and crashes, ns.
    silences : int64[n, 2] or None
        Times without any traffic of the job, ns.
    uncollected : sequence of (int, int)
        Times without collection, ns. They are not lost.
    until_ns : int or None
        End of the observation, ns; by default the end of the job.
    window_ns : int
        Length of the windows of the sliding ratio, ns; 0 chooses it by the duration of the job.

    Returns
    -------
    Ettr
        Ratio, lower bound, and the lost time by reason. NaN with fewer than two steps.

    Assumptions
    -----------
    A restart resumes from the last visible checkpoint.

    Reference
    ---------
    ByteRobust (SOSP 2025), section 2.
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
    quiet, free = _split(silences, pauses, uncollected, usual)
    lost = _stretches(ends, start_ns, usual, restarts, hangs + quiet, free)
    if stuck:
        lost.append(Lost(int(ends[-1]), end, "hang" if stops[-1][2] == "hang" else "crash"))
    again, unknown = _repeated(ends, restarts, events)
    begun = {one.start_ns: one.end_ns for one in lost}  # loss of a step to a restart counts once
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
    """Check whether the job stopped for good: after its last step, without a later restart."""
    begin = max(one[0] for one in stops)
    return begin >= last and not any(event.end_ns > begin for event in restarts)


def _split(
    silences: Ints | None, pauses: Sequence[Event], rests: Sequence[Stretch], usual: int
) -> tuple[list[Stretch], list[Stretch]]:
    """Split long silences into unexplained ones and those that are not lost: evaluations, checkpoints, `rests`.

    An evaluation or checkpoint is a reported event, or a silence as long as such an event elsewhere in the job.
    """
    long = [] if silences is None else [(low, high) for low, high in silences.tolist() if high - low > usual]
    lengths = [one.end_ns - one.start_ns for one in pauses]
    given = [*((one.start_ns, one.end_ns) for one in pauses), *rests]
    reported = [any(begin < high and low < end for begin, end in given) for low, high in long]
    alike = [any(abs(high - low - length) < MAX_PAUSE_DIFFERENCE * length for length in lengths) for low, high in long]
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
    """Measure the time of steps beyond a usual one if a known stop prolonged them; `rests` are not lost."""
    out = []
    begins = np.concatenate([[start], ends[:-1]])
    for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        over = max(end - begin - usual, 0)
        if any(begin <= event.end_ns and event.start_ns < end for event in restarts):
            out.append(Lost(begin, begin + over, "restart"))
        elif i == 0:
            out.append(Lost(begin, begin + over, "warm-up"))
        else:
            seen = [min(high, end) for low, high in hangs if min(high, end) - max(low, begin) > MIN_STEP_SHARE * usual]
            if seen:  # its end is visible: traffic resumes. Its start is not: ranks finish independent work first
                over -= sum(max(min(high, end) - max(low, begin), 0) for low, high in rests)
                at = max(max(seen) - max(over, 0), begin)
                out.append(Lost(at, at + max(over, 0), "hang"))
    return out


def _repeated(ends: Ints, restarts: Sequence[Event], events: Sequence[Event]) -> tuple[list[int], int]:
    """Find the steps that repeat earlier ones, and how many may do so without a visible checkpoint."""
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
