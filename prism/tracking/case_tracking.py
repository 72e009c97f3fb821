"""Findings as they are followed from window to window: opened once, updated, closed.

A finding comes and goes at the edges of windows, and its culprit may be told as a rank in one and as its host in the next. So
one that blames the same for the same time is the same case. It is told once enough windows are sure of it, and is over when
what it says has not gone on for some steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism.findings.same_finding import OUTAGES, alike, loud
from prism.model import Finding, Severity
from prism.topology import Topology
from prism.tracking.board import Case, case_id

NO_STEPS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Watched:
    """A job as far as its cases need it: its step, when it last moved payload, whether it goes on, when its steps ended; ns.

    `final` says that the window is the last of all, and the first that is sure of the job. `since_ns` is when it began,
    `known_ns` when windows could first agree on the job's steps.
    """

    step_ns: float
    talked_ns: int
    running: bool
    ends: NDArray[np.int64]
    final: bool = False
    since_ns: int = 0
    known_ns: int = 0

    def before(self, time_ns: int, *, least: int = 2, most: int = 32) -> float:
        """The usual step before a time, ns; 0 where too few are known."""
        steps = np.diff(self.ends[self.ends <= time_ns])[-most:]
        return float(np.median(steps)) if len(steps) >= least else 0.0

    def during(self, start_ns: int, end_ns: int) -> float:
        """The usual of the steps that lie between two times, ns; 0 where there are none."""
        steps = np.diff(self.ends[(self.ends >= start_ns) & (self.ends <= end_ns)])
        return float(np.median(steps)) if len(steps) else 0.0

    def lately(self, *, steps: int = 3) -> float:
        """The usual of the newest steps, ns; 0 where there are none."""
        return float(np.median(np.diff(self.ends)[-steps:])) if len(self.ends) > 1 else 0.0


@dataclass(frozen=True)
class Trail:
    """A finding that is followed; `told` once its case was opened. `doubt` is the chance that all its windows are wrong.

    `active_ns` is up to when it went on; `missed` counts windows since. `windows` have said so. `usual_ns` is what a step took
    before it began, 0 where that is not known; `first_ns` is up to when it had gone on when it was first seen, `seen_ns` up to
    when the windows saw that agree.
    """

    case: Case
    doubt: float
    active_ns: int
    told: bool = False
    missed: int = 0
    windows: int = 1
    usual_ns: float = 0.0
    first_ns: int = 0
    seen_ns: int = 0


def follow(
    trails: Sequence[Trail],
    findings: Iterable[Finding],
    jobs: Mapping[str, Watched],
    now_ns: int,
    *,
    topology: Topology | None = None,
    doubt: float = 0.2,
    hold: float = 3.0,
    windows: int = 2,
) -> tuple[Trail, ...]:
    """The trails after a window that ends at `now_ns`; of the `jobs` that were looked at in it.

    A case opens when the chance that all windows that said so are wrong falls below `doubt`, `windows` said so and it goes on;
    that a job stands still is told at once. Windows that saw no more of it than one before are as sure as the surest of them.
    It is over when it has not gone on for `hold` steps and `windows` windows, and steps are no longer as slow as it made them,
    or another claim tells why they are.
    """
    out = list(trails)
    found: set[int] = set()
    for finding in sorted(findings, key=lambda f: (f.severity is Severity.INFO, -f.score)):
        step = jobs[finding.job].step_ns
        at = _match(out, finding, step, topology)
        if at is None and (_settled(out, finding) or _cut_anew(out, finding, jobs[finding.job])):
            continue
        if at is None:
            found.add(len(out))
            case = Case(case_id(finding), finding, "open", now_ns, now_ns)
            usual = jobs[finding.job].before(finding.start_ns)
            end = finding.end_ns
            out.append(Trail(case, 1 - finding.confidence, end, usual_ns=usual, first_ns=end, seen_ns=end))
        elif at not in found:
            found.add(at)
            out[at] = _again(out[at], finding, jobs[finding.job], now_ns)
    told = {out[i].case.finding.job for i in found if out[i].told and loud(out[i].case.finding)}
    for i, trail in enumerate(out):
        job = jobs.get(trail.case.finding.job)
        if job is not None and trail.case.state == "open":
            explained = trail.case.finding.job in told
            contested = any(_contests(other, trail) for other in out if other is not trail)
            out[i] = _aged(trail, job, now_ns, i in found, doubt, hold, windows, explained, contested)
    return tuple(trail for trail in out if trail.told or trail.missed <= windows)


def anew(trails: Sequence[Trail], jobs: Collection[str]) -> tuple[Trail, ...]:
    """The trails where steps of `jobs` turn out to be others than windows took for them: what was slow then is not known.

    Of what was not told yet nothing is left; what was told is over when nothing says it again.
    """
    kept = (trail for trail in trails if trail.told or trail.case.finding.job not in jobs)
    return tuple(replace(trail, usual_ns=0.0) if trail.case.finding.job in jobs else trail for trail in kept)


def told_before(before: Sequence[Trail], now: Iterable[Trail]) -> tuple[Trail, ...]:
    """The trails as they were before a window that was analysed once already, and those that it adds, which are not told."""
    known = {trail.case.id for trail in before}
    return (*before, *(trail for trail in now if not trail.told and trail.case.id not in known))


def bounded(trails: Sequence[Trail], *, closed: int) -> tuple[Trail, ...]:
    """All open ones, and the newest of those that are `closed`."""
    over = sorted((t.case.closed_ns for t in trails if t.case.state == "closed"), reverse=True)[closed:]
    return tuple(t for t in trails if t.case.state == "open" or not over or t.case.closed_ns > over[0])


def waits(trail: Trail, *, most: int = 6) -> bool:
    """Whether a claim of the newest window waits for another one to agree; one of `most` windows waits for time to pass."""
    return loud(trail.case.finding) and not trail.told and not trail.missed and trail.windows < most


def _match(trails: Sequence[Trail], finding: Finding, step: float, topology: Topology | None) -> int | None:
    """The newest trail that a finding goes on with."""
    for i in range(len(trails) - 1, -1, -1):
        known = trails[i].case.finding
        if known.job != finding.job or not alike(known, finding, topology):
            continue
        open_still = trails[i].told and trails[i].case.state == "open"  # perhaps nobody listened for some steps
        goes_on = open_still or finding.start_ns <= trails[i].active_ns + 2 * step
        if goes_on and finding.end_ns >= known.start_ns - 2 * step:
            return i
    return None


def _settled(trails: Iterable[Trail], finding: Finding) -> bool:
    """Whether a finding names somebody for an outage that was told of another and is over: nobody sent anything meanwhile.

    Windows that saw the outage go on knew more of it than one that has lost sight of steps before it.
    """
    over = (t.case.finding for t in trails if t.told and t.case.state == "closed" and t.case.finding.kind in OUTAGES)
    known = [one for one in over if one.job == finding.job and finding.kind in OUTAGES]
    return any(one.start_ns < finding.end_ns and finding.start_ns < one.end_ns for one in known)


def _cut_anew(trails: Iterable[Trail], finding: Finding, job: Watched, *, near: float = 0.1) -> bool:
    """Whether somebody is named for a time for which another was told, by steps cut elsewhere: none begins when that did.

    Who is late in steps that are put together of other parts is not who keeps the job waiting.
    """
    slow = (t.case.finding for t in trails if t.told and loud(t.case.finding) and t.case.finding.kind == "slow_rank")
    known = [one for one in slow if one.job == finding.job and one.start_ns < finding.end_ns and finding.start_ns < one.end_ns]
    if finding.kind != "slow_rank" or not len(job.ends):
        return False
    began = np.array([one.start_ns - round(1e6 * one.evidence.get("paused_ms", 0.0)) for one in known], np.int64)
    return any(np.abs(job.ends - time).min() > near * job.step_ns for time in began[began >= job.ends[0]])


def _again(trail: Trail, finding: Finding, job: Watched, now_ns: int) -> Trail:
    """A trail with what a later window says of it."""
    known, step = trail.case.finding, job.step_ns
    if loud(known) and not loud(finding):
        return replace(trail, active_ns=max(trail.active_ns, finding.end_ns))
    if trail.case.state == "closed":
        if finding.end_ns <= trail.active_ns + 2 * step:
            return trail
        trail = replace(trail, case=replace(trail.case, state="open", closed_ns=0))
    start = _start(trail, finding, job)
    lasted, seen = finding.end_ns - start, finding.end_ns - finding.start_ns
    lost = finding.lost_gpu_s * (lasted / seen if seen > 0 else 1.0)
    named = known if known.kind == "hang" and known.confidence > finding.confidence else finding  # of one silence, by the surer
    worst = max(known.severity, named.severity, key=list(Severity).index)  # a constant fault keeps its severity
    told = replace(
        named, severity=worst, start_ns=start, end_ns=finding.end_ns, lost_gpu_s=round(max(lost, known.lost_gpu_s), 1)
    )
    if {"steps"} <= set(known.evidence) & set(named.evidence) and start < finding.start_ns:
        told = replace(told, evidence={**named.evidence, "steps": [known.evidence["steps"][0], named.evidence["steps"][1]]})
    case = replace(trail.case, finding=told, updated_ns=now_ns)
    more = finding.end_ns - trail.seen_ns >= 0.5 * step
    return replace(
        trail,
        case=case,
        doubt=trail.doubt * (1 - finding.confidence) if more else min(trail.doubt, 1 - finding.confidence),
        seen_ns=finding.end_ns if more else trail.seen_ns,
        windows=trail.windows + 1,
        active_ns=max(trail.active_ns, finding.end_ns),
    )


def _start(trail: Trail, finding: Finding, job: Watched) -> int:
    """When what is told began. A later window knows more of that, but not one that it fills from its own beginning on, nor one
    that saw it only stop and go on. Of an outage no window knows more than that which saw nothing sent for longest.
    """
    known = trail.case.finding.start_ns
    if finding.start_ns <= job.since_ns + 2 * job.step_ns:
        return known
    begins = job.since_ns <= known and finding.start_ns <= trail.first_ns and finding.kind not in OUTAGES
    return finding.start_ns if begins else min(known, finding.start_ns)


def _contests(known: Trail, trail: Trail) -> bool:
    """Whether somebody else has been told for the time of what was not told yet."""
    one, other = known.case.finding, trail.case.finding
    claims = known.told and known.case.state == "open" and loud(one) and one.job == other.job
    return claims and one.start_ns < other.end_ns and other.start_ns < known.active_ns


def _aged(
    trail: Trail,
    job: Watched,
    now_ns: int,
    found: bool,
    doubt: float,
    hold: float,
    windows: int,
    explained: bool,
    contested: bool,
) -> Trail:
    """A trail when a window has passed: opened, over, or as it was."""
    finding = trail.case.finding
    lasts = _still_out(finding, job) or (not explained and _still_slow(trail, job))
    active = now_ns if trail.told and lasts else trail.active_ns
    over = now_ns - active > hold * job.step_ns * max(_cost(finding) if finding.kind not in OUTAGES else 1.0, 1.0)
    trail = replace(trail, active_ns=active, missed=0 if found and not over else trail.missed + 1)
    if (
        not trail.told
        and found
        and (not loud(finding) or (trail.doubt <= doubt and _sure(trail, job, now_ns, windows, contested=contested)))
    ):
        trail = replace(trail, told=True, case=replace(trail.case, opened_ns=now_ns, updated_ns=now_ns))
    if trail.told and over and trail.missed >= windows:
        trail = replace(trail, case=replace(trail.case, state="closed", closed_ns=now_ns))
    return trail


def _sure(
    trail: Trail,
    job: Watched,
    now_ns: int,
    windows: int,
    *,
    contested: bool,
    clear: float = 1.15,
    always: int = 12,
    old: float = 12.0,
) -> bool:
    """Whether enough windows have said so: of what goes on, and of more of it than at first where it does not cost much or
    is `contested`: where somebody else has been told for it.

    Of many windows of many jobs, some show a few steps by chance as if somebody were slow, and so do all that end in the same
    step: more of it must be seen then. Who was slow from the start on has nothing to be compared with but others: that must go
    on for as many steps as `always`. A hang that has been over for so many steps as are `old` was not seen by the windows that
    ended in it, so it is none, nor is one that was over before the job was known. The last window of all stands alone for a job
    that none before it was sure of.
    """
    finding = trail.case.finding
    if finding.kind in OUTAGES or job.final:
        since = max(now_ns - old * job.step_ns, job.known_ns)
        return finding.kind != "hang" or job.final or finding.end_ns >= since
    goes_on = now_ns - finding.end_ns <= 2.5 * job.step_ns
    grown = finding.end_ns - trail.first_ns >= 0.5 * job.step_ns
    if trail.usual_ns == 0:
        grown = finding.end_ns - trail.first_ns >= always * job.step_ns
        return trail.windows >= windows and goes_on and grown
    return trail.windows >= windows and goes_on and (grown or (_cost(finding) >= clear and not contested))


def _cost(finding: Finding) -> float:
    """How much longer steps took, as far as it is known."""
    return max(finding.slowdown, float(finding.evidence.get("observed_slowdown", 1.0)))


def _still_out(finding: Finding, job: Watched) -> bool:
    """Whether a job has stood still since."""
    return finding.kind in OUTAGES and not job.running and job.talked_ns <= finding.end_ns + job.step_ns


def _still_slow(trail: Trail, job: Watched, *, least: float = 1.05) -> bool:
    """Whether the newest steps take more of the time that the finding cost than half, by what a step took before it.

    What it cost is seen from its own steps, where there are any: a window that it fills has only others to compare it with.
    """
    finding, usual = trail.case.finding, trail.usual_ns
    slow = job.during(finding.start_ns, finding.end_ns) or usual * _cost(finding)
    loses = loud(finding) and finding.kind not in OUTAGES and usual > 0 and slow >= least * usual
    return loses and job.lately() >= (usual + slow) / 2
