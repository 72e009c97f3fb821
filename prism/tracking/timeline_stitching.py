"""Stitch the timelines of a job's windows into one, in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from prism.model import Event, Phases, Spans, Timeline

Ints = NDArray[np.int64]
Steps = tuple[Ints, ...]


def match_step_ends(before: Ints, ends: Ints, *, max_distance: float = 0.25) -> tuple[int, int, float]:
    """Find where the step ends of a window join the known ones, ns each.

    Returns the number of known ends that remain, the number of the window's ends that are known already (0 to 2), and the
    window's median step, ns. A window that begins inside a step may end its first one inside a known step. If its second end is
    known, the known step remains; else each sliding window would leave half a step behind.
    """
    period = float(np.median(np.diff(ends))) if len(ends) > 1 else 0.0
    for at in range(min(len(ends), 2)):
        count = int(np.searchsorted(before, int(ends[at]) + max_distance * period, "right"))
        if count > at and abs(int(before[count - 1]) - int(ends[at])) <= max_distance * period:
            return count, at + 1, period
    return int(np.searchsorted(before, int(ends[0]) + max_distance * period, "right")), 0, period


def ahead(before: Ints, ends: Ints, *, max_distance: float = 0.25) -> int:
    """Number of steps of a window whose ends precede all known ones; ns each."""
    period = float(np.median(np.diff(ends))) if len(ends) > 1 else 0.0
    return int(np.searchsorted(ends, before[0] - max_distance * period)) if len(before) else 0


def stitched(
    old: Timeline,
    new: Timeline,
    *,
    max_steps: int = 4096,
    spans: int = 200_000,
    intervals: int = 200_000,
    max_distance: float = 0.25,
) -> Timeline:
    """Stitch the known timeline and that of a later window, of the same ranks. The later one is right in its own time.

    The step in which a window begins is incomplete, so the old one remains. Ends within the share `max_distance` of a step are
    the same. The newest steps of every rank (`max_steps`), `spans` and `intervals` of phases are kept.
    """
    ends = job_ends(new)
    if not len(ends):
        return replace(old, events=_events(old.events, new.events, _since(new), 0.0))
    before = job_ends(old)
    # `fresh`: steps of the new window that the old one knows better
    count, fresh, period = match_step_ends(before, ends, max_distance=max_distance)
    seam = int(ends[max(fresh - 1, 0)])
    back = len(before) - count
    steps, gone = _steps(old.steps, new.steps, back, fresh, max_steps)
    events = _events(old.events, new.events, _since(new), period)
    first = min((int(s[0, 0]) for s in steps if len(s)), default=0)
    whole = Timeline(
        steps,
        tuple(event for event in events if event.end_ns >= first),
        _spans(old.spans, new.spans, seam if fresh else _since(new), spans),
        _phases(old.phases, new.phases, count, fresh, gone, intervals),
        tuple(stretch for stretch in old.unseen if stretch[1] > first),
        max(old.first - ahead(before, ends, max_distance=max_distance), 0) + gone,
    )
    both = np.concatenate([before[:count], ends[fresh:]])[-max_steps:]
    if len(both) == max(map(len, steps)):
        _ENDS[whole] = both
    return whole


# Computing it each time from all kept steps is expensive.
_ENDS: WeakKeyDictionary[Timeline, NDArray[np.int64]] = WeakKeyDictionary()


def changed(timeline: Timeline, **columns: Any) -> Timeline:
    """Return a timeline with other columns but the same steps; cached ends are kept."""
    out, known = replace(timeline, **columns), _ENDS.get(timeline)
    if known is not None:
        _ENDS[out] = known
    return out


def job_ends(timeline: Timeline) -> NDArray[np.int64]:
    """Step ends of the whole job, ns: the median over the ranks with most steps."""
    known = _ENDS.get(timeline)
    if known is None:
        known = _ENDS[timeline] = _ends(timeline)
    return known


def latest_end(timeline: Timeline, step: int, *, max_steps: float = 0.5) -> int:
    """End of a step at the rank that ends it last, ns, of the ranks with most steps; at most `max_steps` after `job_ends`."""
    ends = job_ends(timeline)
    most = max(map(len, timeline.steps))
    latest = max(int(own[step, 1]) for own in timeline.steps if len(own) == most)
    return min(latest, int(ends[step] + max_steps * np.median(np.diff(ends))))


def _ends(timeline: Timeline) -> NDArray[np.int64]:
    most = max((len(s) for s in timeline.steps), default=0)
    if not most:
        return np.zeros(0, np.int64)
    full = np.stack([s[:, 1] for s in timeline.steps if len(s) == most])
    first = full.min()  # a float64 cannot hold ns since the epoch
    return np.asarray(np.median(full - first, axis=0).astype(np.int64) + first, dtype=np.int64)


def _since(timeline: Timeline) -> int:
    """Begin of the first step of a window, ns; the largest number if there is none."""
    return min((int(s[0, 0]) for s in timeline.steps if len(s)), default=np.iinfo(np.int64).max)


def _steps(old: Steps, new: Steps, back: int, fresh: int, max_steps: int) -> tuple[Steps, int]:
    """Join for each rank the old steps without the last `back` and the new ones from `fresh`; also return how many are
    dropped.
    """
    out, gone = [], 0
    most = max((len(s) for s in old), default=0)
    for a, b in zip(old, new, strict=True):
        known = a[: max(len(a) - back, 0)]
        rest = b[fresh:].copy()
        if len(known) and len(rest):
            rest[0, 0] = known[-1, 1]
        whole = np.concatenate([known, rest])
        gone = max(gone, len(whole) - max_steps) if len(a) == most else gone
        out.append(whole[-max_steps:])
    return tuple(out), max(gone, 0)


def _events(old: tuple[Event, ...], new: tuple[Event, ...], since: int, period: float) -> tuple[Event, ...]:
    """Join old events that ended before the new window and events of the new window."""
    known = [event for event in old if event.end_ns < since]
    out = list(known)
    for event in new:
        if event.kind == "start" and known:
            continue  # the job existed before the window
        if not any(event.kind == k.kind and abs(event.start_ns - k.start_ns) <= period for k in known):
            out.append(event)
    return tuple(sorted(out, key=lambda event: (event.start_ns, event.kind)))


def _spans(old: Spans, new: Spans, seam: int, most: int) -> Spans:
    keep, take = np.flatnonzero(old.start_ns < seam), np.flatnonzero(new.start_ns >= seam)
    names = ("start_ns", "end_ns", "rank", "phase", "peer")
    columns = {name: np.concatenate([getattr(old, name)[keep], getattr(new, name)[take]]) for name in names}
    if len(old.octets) or len(new.octets):
        columns["octets"] = np.concatenate([_octets(old)[keep], _octets(new)[take]])
    if len(columns["start_ns"]) > most:
        rows = np.sort(np.argsort(columns["start_ns"], kind="stable")[-most:])
        columns = {name: column[rows] for name, column in columns.items()}
    return Spans(**columns)


def _octets(spans: Spans) -> NDArray[np.int64]:
    """Octets of spans, 0 if unknown: spans from a store have none."""
    return spans.octets if len(spans.octets) == len(spans) else np.zeros(len(spans), np.int64)


def _phases(old: Phases, new: Phases, count: int, fresh: int, gone: int, most: int) -> Phases:
    """Join phases by the numbers of stitched steps: `count` old ones, of which the first `gone` are dropped."""
    keep, take = np.flatnonzero(old.step < count), np.flatnonzero(new.step >= fresh)
    step = np.concatenate([old.step[keep], new.step[take] - fresh + count]).astype(np.int32) - np.int32(gone)
    names = ("start_ns", "end_ns", "rank", "phase")
    columns = {name: np.concatenate([getattr(old, name)[keep], getattr(new, name)[take]]) for name in names}
    first = 0
    if len(step) > most:
        first = int(np.sort(step)[-most]) + 1  # complete steps only
    rows = np.argsort(columns["rank"], kind="stable")  # each is in order of rank and start, old before new
    rows = rows[step[rows] >= first]
    return Phases(step=step[rows], **{name: column[rows] for name, column in columns.items()})
