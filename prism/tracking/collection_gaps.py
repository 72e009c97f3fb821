"""Exclude steps inside collection gaps, for example a service restart.

Steps at the begin and the end of a gap are incomplete: their records would distort volumes and layouts. Windows leave them out
once the end of the first step after the gap is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from collectors.columns.record import Flows
from prism.findings.same_finding import OUTAGES
from prism.model import Finding, JobDiagnosis, Timeline
from prism.tracking.board import Gap
from prism.tracking.case_tracking import TrackedFinding
from prism.tracking.identity import marks
from prism.tracking.job_tracking import AGREE, Followed, favoured
from prism.tracking.outages import without_gaps
from prism.tracking.record_windows import SECOND, steps_back
from prism.tracking.timeline_stitching import job_ends


@dataclass(frozen=True)
class CollectionGap:
    """A time without collection: from `since_ns`, 0 if there was none, to `until_ns`, 0 until the next record; ns.

    `again_ns`: end of the first window after collection resumed, 0 before. `unseen`: by job, from the end of the last complete
    step before the gap to the end of the first step after it, which is incomplete; 0, 0 if windows begin after it.
    `misfits`: by job, windows in a row that show steps on both sides of the gap as another layout.
    """

    since_ns: int = 0
    until_ns: int = 0
    unseen: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    again_ns: int = 0
    misfits: Mapping[str, int] = field(default_factory=dict)

    @property
    def still(self) -> bool:
        """Whether no record has arrived since."""
        return self.since_ns > 0 and not self.until_ns

    def over(self, flows: Flows) -> CollectionGap:
        """Return the gap after these records have arrived."""
        new = flows.end_ns[flows.end_ns > self.since_ns] if self.still else flows.end_ns[:0]
        return replace(self, until_ns=int(new.min())) if len(new) else self

    def with_window(self, now_ns: int) -> CollectionGap:
        """Return the gap after a window that ends at `now_ns`."""
        return replace(self, again_ns=now_ns) if self.still and not self.again_ns else self

    def excluding_gap(self, talked_ns: int, now_ns: int) -> int:
        """Subtract the gap from a time, for a job that was last active at `talked_ns`: silence in the gap does not count."""
        known = [time for time in (self.again_ns, self.until_ns) if time]
        end = min(known, default=now_ns)
        missed = end - max(self.since_ns, talked_ns) if self.since_ns else 0
        return now_ns - max(missed, 0)

    def without_gaps(self, followed: Followed, gaps: Sequence[Gap]) -> Followed:
        """Remove the `hidden_intervals` from a job's timeline."""
        if followed.found is None or not gaps:
            return followed
        line = without_gaps(followed.found.timeline, self.hidden_intervals(followed, gaps), followed.step_ns)
        return followed if line is followed.found.timeline else replace(followed, found=replace(followed.found, timeline=line))

    def hidden_intervals(self, followed: Followed, gaps: Iterable[Gap]) -> Iterator[tuple[int, int]]:
        """Yield the intervals in which a job was not observed: gaps in collection, the newest with its incomplete steps.

        The step after the gap is complete; its ranks begin it at slightly different times.
        """
        yield from ((gap.begin_ns, gap.end_ns) for gap in gaps if gap.end_ns)
        low, high = self.unseen.get(followed.id, (0, 0))
        if low:
            yield low, max(self.until_ns, high - round(followed.step_ns / 2))

    def since(self, followed: Followed, now_ns: int, *, steps: float = AGREE + 1.5) -> int:
        """Earliest begin of a job's window that ends at `now_ns`, ns.

        It is the end of the gap if the gap is longer than windows are, or after `steps` steps until they show when the first of
        them ended.
        """
        long = self.until_ns - self.since_ns > steps_back(followed.step_ns) * followed.step_ns
        alone = not any(self.unseen.get(followed.id, ())) and now_ns - self.until_ns > steps * followed.step_ns
        return self.until_ns if long or alone else 0

    def with_steps(self, followed: Followed, job: JobDiagnosis, since_ns: int) -> CollectionGap:
        """Return the gap after a job's window, with what the window shows.

        A window that begins at the end of the gap shows when its first steps ended. `AGREE` in a row that begin before it, and
        have another layout than agreed, show that steps on both sides do not fit together; one may by chance.
        """
        if not self.until_ns or followed.found is None or not followed.trusted:
            return self
        known = followed.id in self.unseen
        if (
            since_ns == self.until_ns
            and not known
            and (unseen := self._unseen(followed, followed.found.timeline, job.timeline))
        ):
            return replace(self, unseen={**self.unseen, followed.id: unseen})
        if since_ns >= self.until_ns or not known:
            return self
        if marks(job).layout == favoured(followed.layouts):
            return replace(self, misfits={name: n for name, n in self.misfits.items() if name != followed.id})
        misfits = {**self.misfits, followed.id: self.misfits.get(followed.id, 0) + 1}
        apart = {followed.id: (0, 0)} if misfits[followed.id] >= AGREE else {}
        return replace(self, misfits=misfits, unseen={**self.unseen, **apart})

    def _unseen(
        self, one: Followed, before: Timeline, after: Timeline, *, apart: float = 0.4, part: float = 0.75
    ) -> tuple[int, int] | None:
        """Compute `unseen`; None if steps after the gap differ in duration (`job_tracking.after`).

        The first end may belong to part of a step; so do new ends that follow sooner than `part` of a step.
        """
        known, new = job_ends(before), job_ends(after)
        known = known[known <= self.since_ns]
        if min(len(known), len(new)) <= AGREE:
            return None
        if not -apart <= np.log(max(np.median(np.diff(new)), 1.0) / one.step_ns) <= apart:
            return None
        done = known[1:][np.diff(known) >= part * np.median(np.diff(known))]
        return _latest(before, int(done[-1]), one.step_ns / 4), _latest(after, int(new[1]), one.step_ns / 4)

    def exclude_gaps(self, followed: Followed, flows: Flows) -> Flows:
        """Remove the records of incomplete steps of a job."""
        low, high = self.unseen.get(followed.id, (0, 0))
        if not len(flows) or flows.start_ns[0] >= high:  # records of a window are in order of start
            return flows
        return flows.take((flows.start_ns <= low) | (flows.end_ns > high))

    def extended(self, tracked: Iterable[TrackedFinding], now_ns: int) -> Iterator[TrackedFinding]:
        """Extend open cases over the gap: whether they continued in it is unknown."""
        heard = now_ns if self.still else self.until_ns
        for entry in tracked:
            waits = entry.told and entry.case.state == "open" and entry.active_ns < heard
            yield replace(entry, active_ns=heard) if waits else entry

    def outside_gap(self, findings: Iterable[Finding], step_ns: float, *, steps: float = 2.0) -> Iterator[Finding]:
        """Remove findings that the gap may have caused: outages that touch it, and ranks that are slow for less than `steps`
        beyond it.

        The steps at its begin and end are incomplete, so a rank that is slow in them counts from the end of the gap; the
        evidence says how much earlier it may have begun.
        """
        for finding in findings:
            begin, end = self.unseen.get(finding.job, (0, 0))
            low = min(self.since_ns - step_ns, (begin or self.since_ns) - step_ns / 2)
            high = max(self.until_ns + step_ns, end + step_ns / 2)
            inside = low <= finding.start_ns <= high
            apart = not self.until_ns or finding.end_ns < low or finding.start_ns > high
            outside_gap = max(low - finding.start_ns, 0.0) + max(finding.end_ns - high, 0.0)
            if apart or (finding.kind not in OUTAGES and outside_gap >= steps * step_ns):
                yield self._after(finding) if self.until_ns and inside and finding.start_ns < self.until_ns else finding

    def _after(self, finding: Finding) -> Finding:
        """Let a finding begin at the end of the gap, and add how much earlier it may have begun."""
        sooner = (self.until_ns - finding.start_ns) / SECOND
        message = f"{finding.message}; it may have begun up to {sooner:.1f} s earlier, in or before a gap in collection"
        evidence = {**finding.evidence, "sooner_s": round(sooner, 3)}
        return replace(finding, start_ns=self.until_ns, message=message, evidence=evidence)


def _latest(timeline: Timeline, end_ns: int, near_ns: float) -> int:
    """Latest end among ranks of the step that the job ended at `end_ns`, within `near_ns`."""
    ends = np.concatenate([steps[:, 1] for steps in timeline.steps])
    return int(ends[np.abs(ends - end_ns) <= near_ns].max(initial=end_ns))
