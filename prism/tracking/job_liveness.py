"""Whether jobs that are followed go on, and when they should be looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from collectors.columns.record import Flows
from prism.model import Job
from prism.tracking.job_tracking import AGREE, Followed
from prism.tracking.record_windows import SECOND
from prism.tracking.substeps import over
from prism.tracking.timeline_stitching import job_ends


def aged(one: Followed, now_ns: int, *, gone_s: float = 1800.0) -> Followed:
    """A job when time has passed: `silent` after some steps without payload, `ended` after `gone_s`."""
    quiet = now_ns - one.talked_ns
    if not is_silent(one, one.talked_ns, now_ns):
        return replace(one, state="running")
    return replace(one, state="ended" if quiet > gone_s * SECOND else "silent")


def rests(flows: Flows, job: Job, *, share: float = 0.95) -> float:
    """How long the pauses are between records that are not between members of a job, ns: shorter ones make up `share` of time.

    Infinite where few come at all. What a job fetches comes once a step; what comes more often does not wait for the job, so it
    tells whether records are collected.
    """
    members = np.isin(np.array(flows.endpoints), job.endpoints)
    own = members[flows.src] & members[flows.dst] if len(flows) else np.zeros(0, np.bool_)
    pauses = np.sort(np.diff(np.sort(flows.end_ns[~own])))
    if len(pauses) < 8:
        return float("inf")
    time = np.cumsum(pauses)
    return float(pauses[np.searchsorted(time, share * time[-1])])


def unheard(newest: int, followed: Iterable[Followed], now_ns: int) -> Iterator[str]:
    """That no exporter has sent anything for as long as makes a job silent, while jobs were followed: in words, none if not so.

    `newest` is when the newest record of all ended, ns. A hang stops one job; other traffic goes on.
    """
    running = [one for one in followed if one.trusted and one.state != "ended"]
    newest = max([newest, *(one.talked_ns for one in running)])
    if running and all(is_silent(one, newest, now_ns) for one in running):
        at = datetime.fromtimestamp(newest // SECOND, UTC).strftime("%H:%M:%S")
        yield (
            f"no records from any exporter since {at} UTC: "
            "collection has stopped, or the network carries no traffic; check the exporters"
        )


def is_silent(one: Followed, talked_ns: int, now_ns: int, *, steps: float = 3.0, least_s: float = 2.0) -> bool:
    """Whether it was so long ago that something of a job was seen that it is called silent."""
    return now_ns - talked_ns > max(steps * one.step_ns, least_s * SECOND)


def uneasy(one: Followed, now_ns: int, *, silent: tuple[float, float] = (1.5, 4.0), slow: float = 1.15) -> bool:
    """Whether something may be wrong with a job, so that it should be looked at again soon.

    Of its payload nothing has been seen for so many steps, or no step was over for `slow` steps (for more of them nothing new
    can be learnt), or one of its two newest steps was `slow` times as long as usual or longer.
    """
    step = max(one.step_ns, 1.0)
    if silent[0] <= (now_ns - one.talked_ns) / step <= silent[1]:
        return True
    ends = job_ends(one.found.timeline) if one.found is not None else np.zeros(0, np.int64)
    if len(ends) <= AGREE:
        return False
    ends = over(ends, step, one.talked_ns, late=slow)
    return slow <= (now_ns - int(ends[-1])) / step <= silent[1] or bool(np.diff(ends[-3:]).max() >= slow * step)


def steps_on(one: Followed, since_ns: int, now_ns: int, *, settled: float = 0.05) -> bool:
    """Whether a step should have ended after a time, and the share `settled` of one has passed: what is new can be seen."""
    ends = job_ends(one.found.timeline) if one.found is not None and one.trusted else np.zeros(0, np.int64)
    if not len(ends):
        return False
    last = int(over(ends, one.step_ns, one.talked_ns)[-1])
    due = int((now_ns - last) / one.step_ns - settled)  # steps that should have ended since the newest that has
    return due > 0 and last + due * one.step_ns > since_ns - settled * one.step_ns
