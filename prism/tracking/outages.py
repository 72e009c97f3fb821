"""Track gaps in collection: times in which Prism collected no records, for example between a crash and the next start.

A gap follows from Prism's own clock and records: from the time up to which it had records to the first record after it resumed.
A silent job makes no gap. What a job does in a gap is unknown: it is no evaluation and no stop, and a step that overlaps it has
no duration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.model import Event, Phases, Timeline
from prism.tracking.board import Gap, GapReason
from prism.tracking.timeline_stitching import changed

SECOND = 1_000_000_000
MOST = 100  # gaps that are kept, the newest
WORDS: dict[GapReason, str] = {"restart": "Prism was not running", "paused": "Prism was paused"}

Stretches = tuple[tuple[int, int], ...]  # begin and end, ns


def with_gap(gaps: Sequence[Gap], at_ns: int, reason: GapReason) -> tuple[Gap, ...]:
    """Return the gaps, newest first, with another one from `at_ns`; an unfinished one continues instead."""
    if gaps and not gaps[0].end_ns:
        return tuple(gaps)
    return (Gap(at_ns, 0, reason), *gaps)[:MOST]


def with_end(gaps: tuple[Gap, ...], flows: Flows) -> tuple[Gap, ...]:
    """Return the gaps after these records arrived: an unfinished one ends with the first record newer than its begin."""
    if not gaps or gaps[0].end_ns:
        return gaps
    newer = flows.end_ns[flows.end_ns > gaps[0].begin_ns]
    return (replace(gaps[0], end_ns=int(newer.min())), *gaps[1:]) if len(newer) else gaps


def described(gap: Gap) -> str:
    """Describe a finished gap for users."""
    begin, end = (datetime.fromtimestamp(time / SECOND, UTC).strftime("%H:%M:%S") for time in (gap.begin_ns, gap.end_ns))
    lasted = (gap.end_ns - gap.begin_ns) / SECOND
    return f"no records were collected from {begin} to {end} UTC ({lasted:.1f} s): {WORDS[gap.reason]}"


def without_gaps(timeline: Timeline, stretches: Iterable[tuple[int, int]], step_ns: float) -> Timeline:
    """Remove intervals without collection from a timeline.

    Events are cut at them (`step_ns` is the usual step of the job); phases of overlapping steps are removed. Between two steps
    with an interval between them, the incomplete step is added. The same object is returned if nothing changes.
    """
    ends = [(int(steps[0, 0]), int(steps[-1, 1])) for steps in timeline.steps if len(steps)]
    first, last = min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)
    unseen = _union((low, high) for low, high in (*timeline.unseen, *stretches) if low < last and first < high)
    events = tuple(part for event in timeline.events for part in _outside(event, unseen, step_ns))
    line = _with_incomplete(timeline if unseen == timeline.unseen else changed(timeline, unseen=unseen), step_ns)
    phases = _seen(line)
    if line is timeline and events == timeline.events and phases is timeline.phases:
        return timeline
    return changed(line, events=events, phases=phases)


def _union(stretches: Iterable[tuple[int, int]]) -> Stretches:
    out: list[tuple[int, int]] = []
    for low, high in sorted(stretches):
        if out and low <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    return tuple(out[-MOST:])


def _outside(event: Event, unseen: Stretches, step_ns: float, *, least: float = 3.0) -> Iterator[Event]:
    """Yield the parts of an event outside some intervals.

    A start or stop within one step of an interval was not observed. Of a pause, parts of at least `least` steps remain, since
    the steps at both ends of an interval are incomplete.
    """
    if event.kind in ("start", "stop"):
        if not any(low - step_ns <= event.start_ns <= high + step_ns for low, high in unseen):
            yield event
        return
    begin, touched = event.start_ns, [one for one in unseen if one[0] < event.end_ns and one[1] > event.start_ns]
    if not touched:
        yield event
        return
    for low, high in (*touched, (event.end_ns, event.end_ns)):
        if low - begin >= least * step_ns:
            yield replace(event, start_ns=begin, end_ns=low)
        begin = max(begin, high)


def _with_incomplete(timeline: Timeline, step_ns: float, *, most: float = 3.0) -> Timeline:
    """Add the incomplete steps: the time from one step to the next that an interval without collection lies in.

    A window that has the steps on both sides takes the interval for a pause, one that begins after it has a step that reaches
    back into it. The number of steps must not depend on that. More than `most` steps beside the interval were a pause.
    """
    steps, phases, phase_steps = list(timeline.steps), timeline.phases, timeline.phases.step
    for rank, own in enumerate(timeline.steps if timeline.unseen else ()):
        between = np.stack([own[:-1, 1], own[1:, 0]], axis=1)
        seen_ns = between[:, 1] - between[:, 0] - sum(_overlap(between, *interval) for interval in timeline.unseen)
        missing = timeline.partly_unseen(*between.T) & (between[:, 1] > between[:, 0]) & (seen_ns < most * step_ns)
        if missing.any():
            steps[rank] = np.insert(own, np.flatnonzero(missing) + 1, between[missing], axis=0)
            rows = slice(*np.searchsorted(phases.rank, [rank, rank + 1]))
            phase_steps = phase_steps.copy() if phase_steps is phases.step else phase_steps
            phase_steps[rows] += np.concatenate([[0], np.cumsum(missing)]).astype(np.int32)[phases.step[rows]]
    if phase_steps is phases.step:
        return timeline
    return replace(timeline, steps=tuple(steps), phases=replace(phases, step=phase_steps))


def _overlap(ranges: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
    """Compute how much of each range lies in an interval, ns."""
    begin, end = (np.clip(side, low, high) for side in ranges.T)
    return np.asarray(end - begin, np.int64)


def _seen(timeline: Timeline) -> Phases:
    """Select the phases of completely observed steps."""
    phases = timeline.phases
    if not len(phases) or not timeline.partly_unseen(phases.start_ns, phases.end_ns).any():
        return phases
    wide = max(map(len, timeline.steps))
    hidden = np.zeros((len(timeline.steps), wide), np.bool_)
    for row, own in zip(hidden, timeline.steps, strict=True):
        row[: len(own)] = timeline.partly_unseen(own[:, 0], own[:, 1])
    return _rows(phases, ~hidden[phases.rank, phases.step])


def _rows(phases: Phases, rows: NDArray[np.bool_]) -> Phases:
    return Phases(*(getattr(phases, name)[rows] for name in ("start_ns", "end_ns", "rank", "step", "phase")))
