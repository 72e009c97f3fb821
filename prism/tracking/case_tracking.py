"""Track findings from window to window as cases: open once, update, close.

Findings change at the edges of windows, and one window may name a rank, the next its host. So findings with the same subject
and time are one case. A case opens once enough windows support it. It closes when the finding has not continued for some steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prism.findings.same_finding import OUTAGES, is_claim, is_same_cause
from prism.model import Finding, Severity
from prism.topology import Topology
from prism.tracking.board import Case, case_id

NO_STEPS = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class JobProgress:
    """State of a job as its cases need it: step, last payload, whether it runs, step ends; ns.

    `final`: the window is the last one, and the first with agreed steps of the job. `since_ns`: begin of the job. `known_ns`:
    earliest time at which windows could agree on the job's steps.
    """

    step_ns: float
    talked_ns: int
    running: bool
    ends: NDArray[np.int64]
    final: bool = False
    since_ns: int = 0
    known_ns: int = 0

    def before(self, time_ns: int, *, min_steps: int = 2, max_steps: int = 32) -> float:
        """Median step before a time, ns; 0 if fewer than `min_steps` are known."""
        steps = np.diff(self.ends[self.ends <= time_ns])[-max_steps:]
        return float(np.median(steps)) if len(steps) >= min_steps else 0.0

    def during(self, start_ns: int, end_ns: int) -> float:
        """Median of the steps between two times, ns; 0 if there are none."""
        steps = np.diff(self.ends[(self.ends >= start_ns) & (self.ends <= end_ns)])
        return float(np.median(steps)) if len(steps) else 0.0

    def recent_step(self, *, steps: int = 3) -> float:
        """Median of the newest steps, ns; 0 if there are none."""
        return float(np.median(np.diff(self.ends)[-steps:])) if len(self.ends) > 1 else 0.0


@dataclass(frozen=True)
class TrackedFinding:
    """A tracked finding; `told` once its case is open. `doubt` is the probability that all its windows are wrong.

    `active_ns`: time up to which it continued. `missed`: windows without it since. `windows`: windows with it. `usual_ns`: step
    before it began, 0 if unknown. `first_ns`: `active_ns` in its first window. `seen_ns`: time up to which its windows agree.
    `again`: windows in a row that show it once more after it was closed.
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
    again: int = 0


def follow(
    tracked: Sequence[TrackedFinding],
    findings: Iterable[Finding],
    jobs: Mapping[str, JobProgress],
    now_ns: int,
    *,
    topology: Topology | None = None,
    doubt: float = 0.25,
    hold: float = 3.0,
    windows: int = 2,
) -> tuple[TrackedFinding, ...]:
    """Update the tracked findings after a window that ends at `now_ns`.

    A case opens if the probability that all its windows are wrong falls below `doubt`, `windows` windows in a row support it,
    and it continues. An outage opens at once; a hang that is over, if windows still show it a step later. Windows that show no
    more of it than an earlier one are only as sure as the surest of them. A case closes if it has not continued for `hold`
    steps and `windows` windows, and steps are no longer as slow as it made them, or another claim explains why they are. It
    opens again if `windows` windows in a row show that it continued after that; an outage at once.

    Parameters
    ----------
    tracked : sequence of TrackedFinding
        Trails before the window.
    findings : iterable of Finding
        Findings of the window.
    jobs : mapping
        Progress of each job that the window analysed, by id.
    now_ns : int
        End of the window.
    topology : Topology, optional
        Placement, to match ranks with hosts.
    doubt : float
        Probability below which a case opens.
    hold : float
        Steps without the finding before its case closes.
    windows : int
        Windows needed to open, and to close, a case.

    Returns
    -------
    tuple of TrackedFinding
    """
    out = list(tracked)
    found: set[int] = set()
    for finding in sorted(findings, key=lambda f: (f.severity is Severity.INFO, -f.score)):
        step = jobs[finding.job].step_ns
        at = _match(out, finding, step, topology)
        if at is None and (_outage_is_closed(out, finding) or _conflicts_with_reported(out, finding, jobs[finding.job])):
            continue
        if at is None:
            found.add(len(out))
            case = Case(case_id(finding), finding, "open", now_ns, now_ns)
            usual = jobs[finding.job].before(finding.start_ns)
            end = finding.end_ns
            out.append(TrackedFinding(case, 1 - finding.confidence, end, usual_ns=usual, first_ns=end, seen_ns=end))
        elif at not in found:
            found.add(at)
            out[at] = _updated(out[at], finding, jobs[finding.job], now_ns, windows)
    told = {out[i].case.finding.job for i in found if out[i].told and is_claim(out[i].case.finding)}
    for i, entry in enumerate(out):
        job = jobs.get(entry.case.finding.job)
        if job is not None and entry.case.state == "open":
            explained = entry.case.finding.job in told
            contested = any(_contests(other, entry) for other in out if other is not entry)
            out[i] = _aged(entry, job, now_ns, i in found, doubt, hold, windows, explained, contested)
        elif entry.again and job is not None and i not in found:
            out[i] = replace(entry, again=0)
    return tuple(entry for entry in out if entry.told or not entry.missed)


def reset_baselines(tracked: Sequence[TrackedFinding], jobs: Collection[str]) -> tuple[TrackedFinding, ...]:
    """Reset the baselines of `jobs` whose steps turned out to be others than assumed; their earlier slowdowns are unknown.

    Unopened findings are dropped. Open ones close unless they are confirmed.
    """
    kept = (entry for entry in tracked if entry.told or entry.case.finding.job not in jobs)
    return tuple(replace(entry, usual_ns=0.0) if entry.case.finding.job in jobs else entry for entry in kept)


def with_unconfirmed(before: Sequence[TrackedFinding], newest: Iterable[TrackedFinding]) -> tuple[TrackedFinding, ...]:
    """Add the new, unopened findings of a repeated analysis to those tracked before."""
    known = {entry.case.id for entry in before}
    return (*before, *(entry for entry in newest if not entry.told and entry.case.id not in known))


def bounded(tracked: Sequence[TrackedFinding], *, closed: int) -> tuple[TrackedFinding, ...]:
    """Limit the tracked findings: all open ones, and the newest `closed` closed ones."""
    surplus = sorted((t.case.closed_ns for t in tracked if t.case.state == "closed"), reverse=True)[closed:]
    return tuple(t for t in tracked if t.case.state == "open" or not surplus or t.case.closed_ns > surplus[0])


def awaits_confirmation(entry: TrackedFinding, *, max_windows: int = 6) -> bool:
    """Check whether a claim of the newest window waits for another window; after `max_windows` it waits for time to pass."""
    return is_claim(entry.case.finding) and not entry.told and not entry.missed and entry.windows < max_windows


def _match(tracked: Sequence[TrackedFinding], finding: Finding, step: float, topology: Topology | None) -> int | None:
    """Find the newest tracked finding that a finding continues."""
    for i in range(len(tracked) - 1, -1, -1):
        known = tracked[i].case.finding
        if known.job != finding.job or not is_same_cause(known, finding, topology):
            continue
        open_still = tracked[i].told and tracked[i].case.state == "open"  # collection may have stopped for some steps
        goes_on = open_still or finding.start_ns <= tracked[i].active_ns + 2 * step
        if goes_on and finding.end_ns >= known.start_ns - 2 * step:
            return i
    return None


def _outage_is_closed(tracked: Iterable[TrackedFinding], finding: Finding) -> bool:
    """Check whether a finding blames a rank for an outage that was reported for another rank and is over.

    Windows during the outage had more evidence of it than one that no longer contains the steps before it.
    """
    over = (t.case.finding for t in tracked if t.told and t.case.state == "closed" and t.case.finding.kind in OUTAGES)
    known = [one for one in over if one.job == finding.job and finding.kind in OUTAGES]
    return any(one.start_ns < finding.end_ns and finding.start_ns < one.end_ns for one in known)


def _conflicts_with_reported(
    tracked: Iterable[TrackedFinding], finding: Finding, job: JobProgress, *, near: float = 0.1
) -> bool:
    """Check whether a finding contradicts an open one for the same time because its steps have other bounds.

    The rank that is late in differently divided steps is not the rank that delays the job.
    """
    slow = (t.case.finding for t in tracked if t.told and is_claim(t.case.finding) and t.case.finding.kind == "slow_rank")
    known = [one for one in slow if one.job == finding.job and one.start_ns < finding.end_ns and finding.start_ns < one.end_ns]
    if finding.kind != "slow_rank" or not len(job.ends):
        return False
    began = np.array([one.start_ns - round(1e6 * one.evidence.get("paused_ms", 0.0)) for one in known], np.int64)
    return any(np.abs(job.ends - time).min() > near * job.step_ns for time in began[began >= job.ends[0]])


def _updated(entry: TrackedFinding, finding: Finding, job: JobProgress, now_ns: int, windows: int) -> TrackedFinding:
    """Update a tracked finding with a later window."""
    known, step = entry.case.finding, job.step_ns
    if is_claim(known) and not is_claim(finding):
        return replace(entry, active_ns=max(entry.active_ns, finding.end_ns))
    if entry.case.state == "closed":
        again = entry.again + 1 if finding.end_ns > entry.active_ns + 2 * step else 0
        if again < (1 if finding.kind in OUTAGES else windows):
            return replace(entry, again=again)
        entry = replace(entry, again=0, case=replace(entry.case, state="open", closed_ns=0))
    start = _start(entry, finding, job)
    lasted, seen = finding.end_ns - start, finding.end_ns - finding.start_ns
    lost = finding.lost_gpu_s * (lasted / seen if seen > 0 else 1.0)
    # Of one silence, keep the surer claim.
    named = known if known.kind == "hang" and known.confidence > finding.confidence else finding
    worst = max(known.severity, named.severity, key=list(Severity).index)  # a constant fault keeps its severity
    updated = replace(
        named, severity=worst, start_ns=start, end_ns=finding.end_ns, lost_gpu_s=round(max(lost, known.lost_gpu_s), 1)
    )
    if {"steps"} <= set(known.evidence) & set(named.evidence) and start < finding.start_ns:
        updated = replace(
            updated, evidence={**named.evidence, "steps": [known.evidence["steps"][0], named.evidence["steps"][1]]}
        )
    case = replace(entry.case, finding=updated, updated_ns=now_ns)
    more = finding.end_ns - entry.seen_ns >= 0.5 * step
    return replace(
        entry,
        case=case,
        doubt=entry.doubt * (1 - finding.confidence) if more else min(entry.doubt, 1 - finding.confidence),
        seen_ns=finding.end_ns if more else entry.seen_ns,
        windows=entry.windows + 1,
        active_ns=max(entry.active_ns, finding.end_ns),
    )


def _start(entry: TrackedFinding, finding: Finding, job: JobProgress) -> int:
    """Determine when the finding began. A later window knows it better, unless the finding fills it from its own begin, or
    the window saw only its end. For an outage, the window with the longest silence knows it best.
    """
    known = entry.case.finding.start_ns
    if finding.start_ns <= job.since_ns + 2 * job.step_ns:
        return known
    begins = job.since_ns <= known and finding.start_ns <= entry.first_ns and finding.kind not in OUTAGES
    return finding.start_ns if begins else min(known, finding.start_ns)


def _contests(known: TrackedFinding, entry: TrackedFinding) -> bool:
    """Check whether another finding is open for the time of an unopened one."""
    one, other = known.case.finding, entry.case.finding
    claims = known.told and known.case.state == "open" and is_claim(one) and one.job == other.job
    return claims and one.start_ns < other.end_ns and other.start_ns < known.active_ns


def _aged(
    entry: TrackedFinding,
    job: JobProgress,
    now_ns: int,
    found: bool,
    doubt: float,
    hold: float,
    windows: int,
    explained: bool,
    contested: bool,
) -> TrackedFinding:
    """Update a tracked finding after a window: open, close or keep it."""
    finding = entry.case.finding
    lasts = _outage_continues(finding, job) or (not explained and _slowness_continues(entry, job))
    active = now_ns if entry.told and lasts else entry.active_ns
    over = now_ns - active > hold * job.step_ns * max(_cost(finding) if finding.kind not in OUTAGES else 1.0, 1.0)
    entry = replace(entry, active_ns=active, missed=0 if found and not over else entry.missed + 1)
    if (
        not entry.told
        and found
        and (not is_claim(finding) or (entry.doubt <= doubt and _confirmed(entry, job, now_ns, windows, contested=contested)))
    ):
        entry = replace(entry, told=True, case=replace(entry.case, opened_ns=now_ns, updated_ns=now_ns))
    if entry.told and over and entry.missed >= windows:
        entry = replace(entry, case=replace(entry.case, state="closed", closed_ns=now_ns))
    return entry


def _confirmed(
    entry: TrackedFinding,
    job: JobProgress,
    now_ns: int,
    windows: int,
    *,
    contested: bool,
    clear: float = 1.15,
    always: float = 1.5,
    max_age_steps: float = 12.0,
) -> bool:
    """Check whether enough windows support a finding that continues.

    If it costs little, or is `contested` by another open claim, later windows must also show more of it. By chance, some
    windows of many jobs show a few steps as if a rank were slow, and all windows that end in the same step do so. A rank that
    was slow from the start has no baseline except other ranks: it must continue for `always` steps more. A hang that ended more
    than `max_age_steps` steps ago was not seen by the windows that ended in it, so it is none; neither is one that ended before
    the job was known. The last window of all needs no support for a job that no earlier window confirmed.
    """
    finding = entry.case.finding
    if finding.kind in OUTAGES or job.final:
        since = max(now_ns - max_age_steps * job.step_ns, job.known_ns)
        later = entry.windows >= windows and job.talked_ns >= finding.end_ns + job.step_ns
        enough = later or job.talked_ns <= finding.end_ns
        return finding.kind != "hang" or job.final or (enough and finding.end_ns >= since)
    goes_on = now_ns - finding.end_ns <= 2.5 * job.step_ns
    grown = finding.end_ns - entry.first_ns >= 0.5 * job.step_ns
    if entry.usual_ns == 0:
        grown = finding.end_ns - entry.first_ns >= always * job.step_ns
        return entry.windows >= windows and goes_on and grown
    return entry.windows >= windows and goes_on and (grown or (_cost(finding) >= clear and not contested))


def _cost(finding: Finding) -> float:
    """Observed slowdown of the steps, as far as known."""
    return max(finding.slowdown, float(finding.evidence.get("observed_slowdown", 1.0)))


def _outage_continues(finding: Finding, job: JobProgress) -> bool:
    """Check whether the job has been still since."""
    return finding.kind in OUTAGES and not job.running and job.talked_ns <= finding.end_ns + job.step_ns


def _slowness_continues(entry: TrackedFinding, job: JobProgress, *, least: float = 1.05) -> bool:
    """Check whether the newest steps take more than half of the finding's extra time, relative to the step before it.

    The extra time is measured in the finding's own steps if there are any: a window that it fills has only other ranks to
    compare with.
    """
    finding, usual = entry.case.finding, entry.usual_ns
    slow = job.during(finding.start_ns, finding.end_ns) or usual * _cost(finding)
    loses = is_claim(finding) and finding.kind not in OUTAGES and usual > 0 and slow >= least * usual
    return loses and job.recent_step() >= (usual + slow) / 2
