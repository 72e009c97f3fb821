"""A time in which nobody took records, as while the service was started again: what it shows is nobody's fault.

The steps in which it begins and ends were not seen whole: records of them that are there would make volumes and layouts seem to
be others. Windows leave them out, once it is known when the first step after it was over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from collectors.columns.record import Flows
from prism.findings.same_finding import OUTAGES
from prism.model import Finding, JobDiagnosis, Timeline
from prism.tracking.board import Gap
from prism.tracking.case_tracking import Trail
from prism.tracking.identity import marks
from prism.tracking.job_tracking import AGREE, Followed, favoured
from prism.tracking.outages import cleared
from prism.tracking.record_windows import SECOND, steps_back
from prism.tracking.timeline_stitching import job_ends


@dataclass(frozen=True)
class Deaf:
    """From when on nobody took records, 0 where somebody always did, and until when: 0 while none has come; ns.

    `again_ns`: up to when was looked first once somebody listened again, 0 before.
    `unseen`: by job, from the end of the last step that was seen whole before it to that of the first one after, which was not;
    0, 0 where windows begin after it.
    """

    since_ns: int = 0
    until_ns: int = 0
    unseen: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    again_ns: int = 0

    @property
    def still(self) -> bool:
        """Whether no record has come since."""
        return self.since_ns > 0 and not self.until_ns

    def over(self, taken: Flows) -> Deaf:
        """The same when these have come."""
        new = taken.end_ns[taken.end_ns > self.since_ns] if self.still else taken.end_ns[:0]
        return replace(self, until_ns=int(new.min())) if len(new) else self

    def looked(self, now_ns: int) -> Deaf:
        """The same when a window ends at `now_ns`."""
        return replace(self, again_ns=now_ns) if self.still and not self.again_ns else self

    def spared(self, talked_ns: int, now_ns: int) -> int:
        """The time, less that in which nobody listened for what was heard last at `talked_ns`: who is silent in it is not."""
        known = [time for time in (self.again_ns, self.until_ns) if time]
        end = min(known, default=now_ns)
        missed = end - max(self.since_ns, talked_ns) if self.since_ns else 0
        return now_ns - max(missed, 0)

    def cleared(self, one: Followed, gaps: Sequence[Gap]) -> Followed:
        """A job whose timeline claims nothing for the `hidden` stretches."""
        if one.found is None or not gaps:
            return one
        line = cleared(one.found.timeline, self.hidden(one, gaps), one.step_ns)
        return one if line is one.found.timeline else replace(one, found=replace(one.found, timeline=line))

    def hidden(self, one: Followed, gaps: Iterable[Gap]) -> Iterator[tuple[int, int]]:
        """The stretches in which a job was not seen: gaps in collection, the newest with the steps that were not seen whole.

        The step after it is seen whole; its ranks begin it at slightly different times.
        """
        yield from ((gap.begin_ns, gap.end_ns) for gap in gaps if gap.end_ns)
        low, high = self.unseen.get(one.id, (0, 0))
        if low:
            yield low, max(self.until_ns, high - round(one.step_ns / 2))

    def since(self, one: Followed, now_ns: int, *, steps: float = AGREE + 1.5) -> int:
        """When a job's window that ends at `now_ns` begins at the earliest, ns.

        That is after it, where it was longer than windows are; or where so many `steps` have passed, until they tell when the
        first of them was over.
        """
        long = self.until_ns - self.since_ns > steps_back(one.step_ns) * one.step_ns
        alone = not any(self.unseen.get(one.id, ())) and now_ns - self.until_ns > steps * one.step_ns
        return self.until_ns if long or alone else 0

    def learned(self, one: Followed, found: JobDiagnosis, since_ns: int) -> Deaf:
        """The same with what a job's window tells of it.

        One that begins as it ends tells when its first steps were over; one that begins before it and has another layout than
        was agreed on, that steps on both sides of it do not fit together.
        """
        if not self.until_ns or one.found is None or not one.trusted:
            return self
        known = one.id in self.unseen
        if since_ns == self.until_ns and not known and (unseen := self._unseen(one, one.found.timeline, found.timeline)):
            return replace(self, unseen={**self.unseen, one.id: unseen})
        if since_ns < self.until_ns and known and marks(found).layout != favoured(one.layouts):
            return replace(self, unseen={**self.unseen, one.id: (0, 0)})
        return self

    def _unseen(
        self, one: Followed, before: Timeline, after: Timeline, *, apart: float = 0.4, part: float = 0.75
    ) -> tuple[int, int] | None:
        """See `unseen`; None where steps after it are not as long as they were (`job_tracking.after`).

        The first end of all may be that of a part of a step, and so are the newest ones that come sooner than `part` of a step.
        """
        known, new = job_ends(before), job_ends(after)
        known = known[known <= self.since_ns]
        if min(len(known), len(new)) <= AGREE:
            return None
        if not -apart <= np.log(max(np.median(np.diff(new)), 1.0) / one.step_ns) <= apart:
            return None
        done = known[1:][np.diff(known) >= part * np.median(np.diff(known))]
        return _latest(before, int(done[-1]), one.step_ns / 4), _latest(after, int(new[1]), one.step_ns / 4)

    def whole(self, one: Followed, flows: Flows) -> Flows:
        """The records of a job without those of steps that were not seen whole."""
        low, high = self.unseen.get(one.id, (0, 0))
        if not len(flows) or flows.start_ns[0] >= high:  # those of a window are in order of start
            return flows
        return flows.take((flows.start_ns <= low) | (flows.end_ns > high))

    def excused(self, trails: Iterable[Trail], now_ns: int) -> Iterator[Trail]:
        """The trails where open cases are taken to have gone on meanwhile: that they did not is not known either."""
        heard = now_ns if self.still else self.until_ns
        for trail in trails:
            waits = trail.told and trail.case.state == "open" and trail.active_ns < heard
            yield replace(trail, active_ns=heard) if waits else trail

    def beyond(self, findings: Iterable[Finding], step_ns: float, *, steps: float = 2.0) -> Iterator[Finding]:
        """The findings without those that may come of it: outages that touch it, and who was slow for less than `steps` beyond.

        The step in which it begins and the one in which it ends are not seen whole, so who was slow in them was so after it; by
        how much sooner that may have begun is said.
        """
        for finding in findings:
            begin, end = self.unseen.get(finding.job, (0, 0))
            low = min(self.since_ns - step_ns, (begin or self.since_ns) - step_ns / 2)
            high = max(self.until_ns + step_ns, end + step_ns / 2)
            inside = low <= finding.start_ns <= high
            apart = not self.until_ns or finding.end_ns < low or finding.start_ns > high
            beyond = max(low - finding.start_ns, 0.0) + max(finding.end_ns - high, 0.0)
            if apart or (finding.kind not in OUTAGES and beyond >= steps * step_ns):
                yield self._after(finding) if self.until_ns and inside and finding.start_ns < self.until_ns else finding

    def _after(self, finding: Finding) -> Finding:
        """A finding that began before it was over as one that begins then, and by how much sooner it may have begun."""
        sooner = (self.until_ns - finding.start_ns) / SECOND
        message = f"{finding.message}; it may have begun up to {sooner:.1f} s earlier, in or before a gap in collection"
        evidence = {**finding.evidence, "sooner_s": round(sooner, 3)}
        return replace(finding, start_ns=self.until_ns, message=message, evidence=evidence)


def _latest(timeline: Timeline, end_ns: int, near_ns: float) -> int:
    """When the last of the ranks ended a step that the job ended at a time, ns: not further than `near_ns` from it."""
    ends = np.concatenate([steps[:, 1] for steps in timeline.steps])
    return int(ends[np.abs(ends - end_ns) <= near_ns].max(initial=end_ns))
