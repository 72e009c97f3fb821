"""Detect silent exporters, and distinguish them from traffic that has stopped.

If an export stops, all that the exporter sees ends at one instant, while the same jobs continue elsewhere or unrelated jobs end
with it. If a job hangs, it ends everywhere, and alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from collectors.columns.record import Flows, Mask
from prism.findings.same_finding import OUTAGES
from prism.model import Finding
from prism.tracking.job_liveness import pause_bound
from prism.tracking.job_tracking import Followed
from prism.tracking.record_windows import SECOND, RecordWindow, newest

MAX_SILENCE_S = 1800  # seconds until a job that only a silent exporter saw counts as ended
MAX_CONFIDENCE_BLIND, MAX_CONFIDENCE_LOST = (
    0.8,
    0.5,
)  # maximum confidence of an outage: without any data from its exporters, and with datagram losses


@dataclass(frozen=True)
class ExporterReception:
    """Reception state of an exporter: arrival of its newest datagram, datagrams lost, and time of the last loss, ns."""

    at_ns: int
    lost: int = 0
    lost_ns: int = 0


@dataclass(frozen=True)
class SilentExporter:
    """A silent exporter: time of its last record, and the jobs that cannot be judged without it."""

    exporter: str
    since_ns: int
    jobs: tuple[str, ...]

    def __str__(self) -> str:
        held = f"; until they return, no fault is reported for job {', '.join(self.jobs)}" if self.jobs else ""
        return (
            f"no records from exporter {self.exporter} since {_clock(self.since_ns)}, while other exporters send: "
            f"its export has stopped or the switch is down; check both{held}"
        )


def job_exporters(flows: Flows, followed: Followed) -> frozenset[str]:
    """List the exporters that report payload between members of a job."""
    counts = np.bincount(flows.exporter[_payload(flows, followed)], minlength=len(flows.exporters))
    return frozenset(name for name, count in zip(flows.exporters, counts.tolist(), strict=False) if count)


def records_of(flows: Flows, exporters: Collection[str]) -> Flows:
    """Select the records of some exporters; all records if `exporters` is empty or no record names one."""
    wanted = np.isin(np.array(flows.exporters or ("",)), list(exporters))
    return flows if wanted.all() or not wanted.any() else flows.take(wanted[flows.exporter])


def find_silent(
    flows: Flows,
    followed: Iterable[Followed],
    receptions: Mapping[str, ExporterReception],
    *,
    steps: float = 2.0,
    pauses: float = 2.0,
) -> Iterator[SilentExporter]:
    """Find exporters that have fallen silent in the newest records.

    An exporter is silent if nothing came for `pauses` times its longest pause, while a job that it saw continued elsewhere for
    `steps` steps, or while several unrelated jobs ended. An exporter that has sent any datagram since is not silent.
    """
    last = newest(flows)
    if len(last) < 2:
        return
    jobs = [one for one in followed if one.trusted and one.state != "ended"]
    for code in np.flatnonzero(last > 0).tolist():
        name, since = flows.exporters[code], int(last[code])
        own = flows.exporter == code
        ends = np.sort(flows.end_ns[own])
        silence = int(last.max()) - since
        reported = receptions.get(name)
        alive = reported is not None and reported.at_ns > since + silence // 2
        if alive or len(ends) < 8 or silence <= max(pauses * int(np.diff(ends).max()), SECOND):
            continue
        mine = [one for one in jobs if (own & _payload(flows, one)).any()]
        ahead = {one.id: _steps_since(flows, one, since) for one in mine}
        on = [one for one in mine if ahead[one.id] >= steps]
        alone = [one for one in mine if job_exporters(flows, one) == {name}]
        together = alone and all(_ended_with(flows.take(own), one, since) for one in mine)
        if on or together:
            yield SilentExporter(name, since, tuple(one.id for one in mine if one in on or one in alone))


def silent_now(
    recent: RecordWindow,
    followed: Collection[Followed],
    receptions: Mapping[str, ExporterReception],
    before: Mapping[str, SilentExporter],
    by: Mapping[str, Collection[str]],
    since_ns: int,
    now_ns: int,
) -> dict[str, SilentExporter]:
    """List the silent exporters now, from records that start at `since_ns` or later; `before`: the previous result.

    `by`: exporters that report each job.
    """
    last = recent.newest_by
    lagging = [name for name, at in last.items() if since_ns <= at < recent.heard_ns - SECOND]
    found = find_silent(recent.between(since_ns, now_ns), followed, receptions) if lagging else ()
    still = {name: one for name, one in before.items() if last.get(name, 0) <= one.since_ns}
    for name, one in still.items():  # a job that no other exporter saw
        unseen = tuple(job for job in one.jobs if set(by.get(job, ())) <= still.keys())
        still[name] = replace(one, jobs=unseen if now_ns - one.since_ns < MAX_SILENCE_S * SECOND else ())
    return {**still, **{one.exporter: one for one in found}}


def seen_until(
    flows: Flows,
    by: Collection[str],
    followed: Followed,
    ended_ns: int,
    now_ns: int,
    *,
    heard_ns: int,
    sent_ns: int,
    near: bool,
) -> tuple[int, int]:
    """Return the time until which a job would have been seen, and `blind_ns` for `weighed`, ns.

    The job moved payload until `ended_ns`. Its exporters are `by`; their newest datagram came at `sent_ns`, that of all
    exporters at `heard_ns`. If only the job itself shows that its exporters work (no other traffic is more frequent than its
    steps, and no other job is `near`), silence is ambiguous. A hang is urgent, so it is reported with lower confidence.
    """
    if not followed.trusted or now_ns - ended_ns <= followed.step_ns:
        return heard_ns, 0
    own = records_of(flows, by)
    heard_ns = min(now_ns, max(int(own.end_ns.max()), sent_ns))
    alive = sent_ns >= ended_ns + 1.5 * followed.step_ns
    if alive or near or pause_bound(own.take(own.start_ns < heard_ns), followed.job) <= 0.75 * followed.step_ns:
        return heard_ns, 0
    return now_ns, heard_ns if now_ns > heard_ns + followed.step_ns else 0


def doubt_outages(
    findings: Iterable[Finding], lost: Mapping[str, ExporterReception], *, blind_ns: int = 0
) -> Iterator[Finding]:
    """Lower the confidence of outages if the job's exporters `lost` datagrams meanwhile, or if no data arrived at all.

    `blind_ns`: time of the last data if only the job itself shows that records are collected, else 0.
    """
    for finding in findings:
        gaps = sorted(
            n for n, told in lost.items() if told.lost and finding.start_ns <= told.lost_ns <= finding.end_ns + SECOND
        )
        if finding.kind in OUTAGES and gaps:
            yield _with_confidence(
                finding,
                MAX_CONFIDENCE_LOST,
                f"datagrams from {', '.join(gaps)} were lost in this time, so the job may have continued unseen",
            )
        elif finding.kind in OUTAGES and 0 < blind_ns <= finding.end_ns:
            yield _with_confidence(
                finding,
                MAX_CONFIDENCE_BLIND,
                "no other traffic was recorded in this time either, so collection may have stopped",
            )
        else:
            yield finding


def loss_notes(before: Mapping[str, ExporterReception], now: Mapping[str, ExporterReception]) -> Iterator[str]:
    """Describe the losses of exporters since the previous state."""
    for name, told in sorted(now.items()):
        more = told.lost - (before[name].lost if name in before else 0)
        if more > 0:
            lost = f"exporter {name}: {more:,} datagrams or records were lost until {_clock(told.lost_ns)}"
            yield f"{lost}; results for this time may be incomplete"


def _with_confidence(finding: Finding, most: float, why: str) -> Finding:
    evidence = {**finding.evidence, "collection": why}
    return replace(finding, confidence=min(finding.confidence, most), message=f"{finding.message}; {why}", evidence=evidence)


def _payload(flows: Flows, one: Followed) -> Mask:
    members = np.isin(np.array(flows.endpoints), one.job.endpoints)
    return members[flows.src] & members[flows.dst] & ~flows.control()


def _steps_since(flows: Flows, one: Followed, since_ns: int) -> float:
    """Count the steps that a job has continued since a time; a pause, such as an evaluation, counts as one step at most."""
    ends = np.sort(flows.end_ns[_payload(flows, one) & (flows.end_ns > since_ns)])
    step = max(one.step_ns, 1.0)
    return float(np.minimum(np.diff(ends, prepend=since_ns), step).sum() / step)


def _ended_with(flows: Flows, one: Followed, since_ns: int) -> bool:
    """Check whether traffic of other jobs came more often than the job's steps and ended at the same time."""
    members = np.isin(np.array(flows.endpoints), one.job.endpoints)
    others = flows.end_ns[~(members[flows.src] & members[flows.dst])]
    often = pause_bound(flows, one.job) <= 0.75 * one.step_ns
    return often and since_ns - int(others.max(initial=0)) <= one.step_ns


def _clock(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // SECOND, UTC).strftime("%H:%M:%S UTC")
