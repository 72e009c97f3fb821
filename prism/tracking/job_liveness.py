"""Decide whether tracked jobs are running, and when they need another window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from collectors.columns.record import Flows
from prism.model import Job
from prism.tracking.job_tracking import AGREE, Followed
from prism.tracking.record_windows import SECOND, hop_ns
from prism.tracking.substeps import completed
from prism.tracking.timeline_stitching import job_ends


def aged(followed: Followed, now_ns: int, *, gone_s: float = 1800.0) -> Followed:
    """Update the state of a job: `silent` after some steps without payload, `ended` after `gone_s`."""
    quiet = now_ns - followed.talked_ns
    if not is_silent(followed, followed.talked_ns, now_ns):
        return replace(followed, state="running")
    return replace(followed, state="ended" if quiet > gone_s * SECOND else "silent")


def pause_bound(flows: Flows, job: Job, *, share: float = 0.95) -> float:
    """Pause between other records than the job's own, ns: shorter pauses make up `share` of the time. Infinite if there are
    few.

    Traffic that the job requests occurs once per step. More frequent traffic does not depend on the job, so it shows whether
    records are collected.
    """
    members = np.isin(np.array(flows.endpoints), job.endpoints)
    own = members[flows.src] & members[flows.dst] if len(flows) else np.zeros(0, np.bool_)
    pauses = np.sort(np.diff(np.sort(flows.end_ns[~own])))
    if len(pauses) < 8:
        return float("inf")
    time = np.cumsum(pauses)
    return float(pauses[np.searchsorted(time, share * time[-1])])


def collection_silence(newest: int, followed: Iterable[Followed], now_ns: int) -> Iterator[str]:
    """Yield a message if no exporter has sent records for as long as makes jobs silent while jobs were tracked.

    `newest` is the end of the newest record, ns. A hang stops one job; other traffic continues.
    """
    running = [one for one in followed if one.trusted and one.state != "ended"]
    newest = max([newest, *(one.talked_ns for one in running)])
    if running and all(is_silent(one, newest, now_ns) for one in running):
        at = datetime.fromtimestamp(newest // SECOND, UTC).strftime("%H:%M:%S")
        yield (
            f"no records from any exporter since {at} UTC: "
            "collection has stopped, or the network carries no traffic; check the exporters"
        )


def is_silent(followed: Followed, talked_ns: int, now_ns: int, *, steps: float = 3.0, least_s: float = 2.0) -> bool:
    """Check whether a job's last activity was so long ago that it counts as silent."""
    return now_ns - talked_ns > max(steps * followed.step_ns, least_s * SECOND)


def needs_window(followed: Followed, now_ns: int, *, silent: tuple[float, float] = (1.5, 4.0), slow: float = 1.15) -> bool:
    """Check whether a job may have a problem, so that it needs another window soon.

    Either it had no payload for `silent` steps, or no step ended for `slow` steps (after the upper bound of `silent` nothing
    new can be learned), or one of its two newest steps took `slow` times the usual step or longer.
    """
    step = max(followed.step_ns, 1.0)
    if silent[0] <= (now_ns - followed.talked_ns) / step <= silent[1]:
        return True
    ends = job_ends(followed.found.timeline) if followed.found is not None else np.zeros(0, np.int64)
    if len(ends) <= AGREE:
        return False
    ends = completed(ends, step, followed.talked_ns, late=slow)
    return slow <= (now_ns - int(ends[-1])) / step <= silent[1] or bool(np.diff(ends[-3:]).max() >= slow * step)


def nothing_new(followed: Followed, now_ns: int) -> bool:
    """Check whether a job can wait for its next window: no step is due since its last one, and the time that is usual between
    two has not passed. Jobs of other steps may be due more often. A silent job has no steps.
    """
    soon = now_ns - followed.looked_ns < hop_ns([followed.step_ns])
    due = followed.state == "running" and step_is_due(followed, followed.looked_ns, now_ns)
    return followed.trusted and not followed.doubted_ns and soon and not due


def step_is_due(followed: Followed, since_ns: int, now_ns: int, *, settled: float = 0.05) -> bool:
    """Check whether a step should have ended after a time, by the share `settled` of a step: then new data can be seen."""
    ends = job_ends(followed.found.timeline) if followed.found is not None and followed.trusted else np.zeros(0, np.int64)
    if not len(ends):
        return False
    last = int(completed(ends, followed.step_ns, followed.talked_ns)[-1])
    due = int((now_ns - last) / followed.step_ns - settled)  # steps that should have ended since the newest that has
    return due > 0 and last + due * followed.step_ns > since_ns - settled * followed.step_ns
