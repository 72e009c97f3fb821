"""A time in which nobody took records, as while the service was started again: what it shows is nobody's fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from collectors.record import Flows
from prism.following import OUTAGES
from prism.model import Finding
from prism.tracking import Followed
from prism.windows import SECOND, steps_back


@dataclass(frozen=True)
class Deaf:
    """From when on nobody took records, 0 where somebody always did, and until when: 0 while none has come; ns."""

    since_ns: int = 0
    until_ns: int = 0

    @property
    def still(self) -> bool:
        """Whether no record has come since."""
        return self.since_ns > 0 and not self.until_ns

    def over(self, taken: Flows) -> Deaf:
        """The same when these have come."""
        new = taken.end_ns[taken.end_ns > self.since_ns] if self.still else taken.end_ns[:0]
        return replace(self, until_ns=int(new.min())) if len(new) else self

    def since(self, one: Followed) -> int:
        """When windows of a job begin at the earliest, ns: after it, where it was longer than they are."""
        lasted = self.until_ns - self.since_ns
        return self.until_ns if lasted > steps_back(one.step_ns) * one.step_ns else 0

    def beyond(self, findings: Iterable[Finding], step_ns: float, *, steps: float = 2.0) -> Iterator[Finding]:
        """The findings without those that may come of it: outages that touch it, and who was slow for less than `steps` beyond.

        The step in which it begins and the one in which it ends are not seen whole, so who was slow in them was so after it; by
        how much sooner that may have begun is said.
        """
        low, high = self.since_ns - step_ns, self.until_ns + step_ns
        for finding in findings:
            inside = low <= finding.start_ns <= high
            apart = not self.until_ns or finding.end_ns < low or finding.start_ns > high
            beyond = max(low - finding.start_ns, 0.0) + max(finding.end_ns - high, 0.0)
            if apart or (finding.kind not in OUTAGES and beyond >= steps * step_ns):
                yield self._after(finding) if self.until_ns and inside and finding.start_ns < self.until_ns else finding

    def _after(self, finding: Finding) -> Finding:
        """A finding that began before it was over as one that begins then, and by how much sooner it may have begun."""
        sooner = (self.until_ns - finding.start_ns) / SECOND
        message = f"{finding.message}; it may have begun up to {sooner:.1f} s sooner, for some of which no records were taken"
        evidence = {**finding.evidence, "sooner_s": round(sooner, 3)}
        return replace(finding, start_ns=self.until_ns, message=message, evidence=evidence)
