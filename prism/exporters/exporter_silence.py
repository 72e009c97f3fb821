"""Which exporters are heard: one that falls silent must be told from traffic that has ceased.

All that an exporter sees ends at one instant where its export stops, while the same jobs go on elsewhere or others that it saw
end with them; a job that hangs ends everywhere, and alone.
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
from prism.tracking.record_windows import SECOND, Shelf, newest

GIVEN_UP_S = 1800  # an exporter is waited for so long before what it alone saw is taken to have ended
UNSURE, REFUTED = 0.8, 0.5  # how sure an outage can be of what is not heard at all, and of what was lost meanwhile


@dataclass(frozen=True)
class Heard:
    """What a collector knows of an exporter: when its newest datagram of any kind came, how many it lost and when last, ns."""

    at_ns: int
    lost: int = 0
    lost_ns: int = 0


@dataclass(frozen=True)
class Quiet:
    """An exporter whose records ceased, the last at `since_ns`, and the jobs that cannot be judged for it."""

    exporter: str
    since_ns: int
    jobs: tuple[str, ...]

    def __str__(self) -> str:
        held = f"; until they return, no fault is reported for job {', '.join(self.jobs)}" if self.jobs else ""
        return (
            f"no records from exporter {self.exporter} since {_clock(self.since_ns)}, while other exporters send: "
            f"its export has stopped or the switch is down; check both{held}"
        )


def reporters(flows: Flows, one: Followed) -> frozenset[str]:
    """The exporters that report payload between members of a job."""
    counts = np.bincount(flows.exporter[_payload(flows, one)], minlength=len(flows.exporters))
    return frozenset(name for name, count in zip(flows.exporters, counts.tolist(), strict=False) if count)


def by_some(flows: Flows, exporters: Collection[str]) -> Flows:
    """The records of some exporters; all, where it is none or no record names one."""
    wanted = np.isin(np.array(flows.exporters or ("",)), list(exporters))
    return flows if wanted.all() or not wanted.any() else flows.take(wanted[flows.exporter])


def quiet(
    flows: Flows, followed: Iterable[Followed], heard: Mapping[str, Heard], *, steps: float = 2.0, pauses: float = 2.0
) -> Iterator[Quiet]:
    """Exporters that have fallen silent, of the newest records of all.

    Nothing came from them for `pauses` times their longest pause, while a job that they saw went on elsewhere for `steps`, or
    several that have nothing in common ended. Who has sent a datagram of any kind since is heard.
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
        told = heard.get(name)
        alive = told is not None and told.at_ns > since + silence // 2
        if alive or len(ends) < 8 or silence <= max(pauses * int(np.diff(ends).max()), SECOND):
            continue
        mine = [one for one in jobs if (own & _payload(flows, one)).any()]
        ahead = {one.id: _ahead(flows, one, since) for one in mine}
        on = [one for one in mine if ahead[one.id] >= steps]
        alone = [one for one in mine if reporters(flows, one) == {name}]
        together = alone and all(_ended_with(flows.take(own), one, since) for one in mine)
        if on or together:
            yield Quiet(name, since, tuple(one.id for one in mine if one in on or one in alone))


def silenced(
    shelf: Shelf,
    followed: Collection[Followed],
    heard: Mapping[str, Heard],
    before: Mapping[str, Quiet],
    by: Mapping[str, Collection[str]],
    since_ns: int,
    now_ns: int,
) -> dict[str, Quiet]:
    """The exporters that are silent now, of records that start from a time on; `before` is what was known of them.

    `by` are the exporters that report each job.
    """
    last = shelf.newest_by
    lagging = [name for name, at in last.items() if since_ns <= at < shelf.heard_ns - SECOND]
    found = quiet(shelf.between(since_ns, now_ns), followed, heard) if lagging else ()
    still = {name: one for name, one in before.items() if last.get(name, 0) <= one.since_ns}
    for name, one in still.items():  # nobody else could tell of a job that it alone saw
        unseen = tuple(job for job in one.jobs if set(by.get(job, ())) <= still.keys())
        still[name] = replace(one, jobs=unseen if now_ns - one.since_ns < GIVEN_UP_S * SECOND else ())
    return {**still, **{one.exporter: one for one in found}}


def told_until(
    flows: Flows, by: Collection[str], one: Followed, ended_ns: int, now_ns: int, *, heard_ns: int, sent_ns: int, near: bool
) -> tuple[int, int]:
    """Up to when a job that moved payload until `ended_ns` would have been seen, ns, and `blind_ns` of `weighed`.

    Its exporters, `by`, have told until then, of whatever; the newest datagram of them came at `sent_ns`, that of all at
    `heard_ns`. Where nothing but the job itself tells whether they do, because nobody else speaks there more often than it
    steps and no other job is `near`, a silence may be either: a hang is urgent, so it is told, but as less sure.
    """
    if not one.trusted or now_ns - ended_ns <= one.step_ns:
        return heard_ns, 0
    own = by_some(flows, by)
    heard_ns = min(now_ns, max(int(own.end_ns.max()), sent_ns))
    alive = sent_ns >= ended_ns + 1.5 * one.step_ns
    if alive or near or pause_bound(own.take(own.start_ns < heard_ns), one.job) <= 0.75 * one.step_ns:
        return heard_ns, 0
    return now_ns, heard_ns if now_ns > heard_ns + one.step_ns else 0


def weighed(findings: Iterable[Finding], lost: Mapping[str, Heard], *, blind_ns: int = 0) -> Iterator[Finding]:
    """Findings of a job, outages less sure where its exporters `lost` datagrams meanwhile, and where nothing at all was heard.

    `blind_ns` is when something was heard last, if only the job itself tells whether records are collected, else 0.
    """
    for finding in findings:
        gaps = sorted(
            n for n, told in lost.items() if told.lost and finding.start_ns <= told.lost_ns <= finding.end_ns + SECOND
        )
        if finding.kind in OUTAGES and gaps:
            yield _unsure(
                finding,
                REFUTED,
                f"datagrams from {', '.join(gaps)} were lost in this time, so the job may have continued unseen",
            )
        elif finding.kind in OUTAGES and 0 < blind_ns <= finding.end_ns:
            yield _unsure(finding, UNSURE, "no other traffic was recorded in this time either, so collection may have stopped")
        else:
            yield finding


def losses(before: Mapping[str, Heard], now: Mapping[str, Heard]) -> Iterator[str]:
    """What exporters lost since, in words."""
    for name, told in sorted(now.items()):
        more = told.lost - (before[name].lost if name in before else 0)
        if more > 0:
            lost = f"exporter {name}: {more:,} datagrams or records were lost until {_clock(told.lost_ns)}"
            yield f"{lost}; results for this time may be incomplete"


def _unsure(finding: Finding, most: float, why: str) -> Finding:
    evidence = {**finding.evidence, "collection": why}
    return replace(finding, confidence=min(finding.confidence, most), message=f"{finding.message}; {why}", evidence=evidence)


def _payload(flows: Flows, one: Followed) -> Mask:
    members = np.isin(np.array(flows.endpoints), one.job.endpoints)
    return members[flows.src] & members[flows.dst] & ~flows.control()


def _ahead(flows: Flows, one: Followed, since_ns: int) -> float:
    """For how many steps a job has gone on since a time."""
    ends = flows.end_ns[_payload(flows, one)]
    return float((int(ends.max(initial=since_ns)) - since_ns) / max(one.step_ns, 1.0))


def _ended_with(flows: Flows, one: Followed, since_ns: int) -> bool:
    """Whether records that are not a job's came more often than its steps, and ended when all did."""
    members = np.isin(np.array(flows.endpoints), one.job.endpoints)
    others = flows.end_ns[~(members[flows.src] & members[flows.dst])]
    often = pause_bound(flows, one.job) <= 0.75 * one.step_ns
    return often and since_ns - int(others.max(initial=0)) <= one.step_ns


def _clock(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // SECOND, UTC).strftime("%H:%M:%S UTC")
