"""Kill a watch during a replay and start it again later, as a live service may experience."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from collectors.columns.record import Flows, concatenated
from prism.live.live_analysis import Watch
from prism.recordings.timed_playback import Tick
from prism.storage.live_state import job_from, job_json, tracked_from, tracked_json
from prism.tracking.flow_sources import Memory
from prism.tracking.job_tracking import RecordRange
from prism.tracking.record_windows import SECOND

Played = TypeVar("Played", bound=Watch)


def gone_ns(truth: Mapping[str, Any]) -> int:
    """Return the time of the kill, ns: the middle of the first long fault, else of the run."""
    steps = [step for job in truth["jobs"].values() for own in job["steps"].values() for step in own]
    begin, end = min(step[1] for step in steps), max(step[2] for step in steps)
    lasting = (fault for fault in truth["faults"] if min(fault.get("end_ns", end), end) > fault.get("start_ns", begin))
    fault: Mapping[str, Any] = next(lasting, {})
    return int(max(fault.get("start_ns", begin), begin) + min(fault.get("end_ns", end), end)) // 2


def without(played: Iterator[Tick], gone: int, away_s: float) -> Iterator[Tick]:
    """Remove the ticks during the absence; they are lost."""
    return (tick for tick in played if not gone <= tick.clock_ns < gone + away_s * SECOND)


def again(before: Played, after: Played, flows: Flows, gone: int) -> Played:
    """Start the watch `after` a restart with the stored state of `before`, and the records until then."""
    jobs = [job_from(json.loads(json.dumps(job_json(one)))) for one in before.jobs if one.trusted]
    tracked = [tracked_from(json.loads(json.dumps(tracked_json(entry)))) for entry in before.tracked if entry.told]
    came = Memory(flows.take(flows.end_ns < gone))
    wanted = [*after.past(jobs, before.until_ns), RecordRange(before.until_ns, gone)]
    past = concatenated([came.between(since, until, endpoints=own) for since, until, own in wanted])
    after.resume(jobs, tracked, before.until_ns, past, collection_stopped=True)
    return after
