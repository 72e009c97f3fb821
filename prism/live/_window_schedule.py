"""Decide when a window ends, and which jobs it analyses: those of which it shows something new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prism.findings.same_finding import is_claim
from prism.tracking.case_tracking import TrackedFinding, awaits_confirmation
from prism.tracking.job_liveness import needs_window, nothing_new, step_is_due
from prism.tracking.job_tracking import Followed
from prism.tracking.record_windows import hop_ns, rest_ns


def window_is_due(jobs: Sequence[Followed], tracked: Sequence[TrackedFinding], until_ns: int, now_ns: int) -> bool:
    """Check whether a window should end now, after one that ended at `until_ns`.

    Enough time (less if a problem is suspected) or a new step end must have passed.
    """
    running = [one for one in jobs if one.trusted and one.state == "running"]
    steps = [one.step_ns for one in running]
    if now_ns >= until_ns + hop_ns(steps):
        return True
    awaited = _awaited(tracked)
    if awaited or _suspected(jobs, tracked, now_ns):
        return now_ns >= until_ns + hop_ns(steps, urgent=True) // (4 if awaited else 1)
    return now_ns >= until_ns + rest_ns(steps) and any(step_is_due(one, until_ns, now_ns) for one in running)


def can_wait(
    jobs: Sequence[Followed], tracked: Sequence[TrackedFinding], now_ns: int, search_ns: int, most_ns: int
) -> Iterator[str]:
    """Yield the jobs of which a window would show little more than the last one did; the others may be due more often."""
    urgent = _awaited(tracked) | _suspected(jobs, tracked, now_ns)
    for one in jobs:
        if one.can_wait(now_ns, search_ns, most_ns) or (one.id not in urgent and nothing_new(one, now_ns)):
            yield one.id


def _awaited(tracked: Sequence[TrackedFinding]) -> set[str]:
    """Jobs of which a claim waits for another window."""
    return {entry.case.finding.job for entry in tracked if awaits_confirmation(entry)}


def _suspected(jobs: Sequence[Followed], tracked: Sequence[TrackedFinding], now_ns: int) -> set[str]:
    """Jobs of which something may be wrong that no open case explains."""
    claims = (t.case.finding for t in tracked if t.told and t.case.state == "open")
    known = {finding.job for finding in claims if is_claim(finding)}
    running = (one for one in jobs if one.trusted and one.state == "running" and one.id not in known)
    return {one.id for one in running if needs_window(one, now_ns)}
