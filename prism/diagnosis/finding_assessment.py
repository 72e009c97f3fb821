"""What a finding costs, whom to isolate for it, and how sure it is: the last touch on what the detectors say of one job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prism.detectors.observations.switch_losses import attested
from prism.diagnosis.assessment.confidence import Completeness, confidence
from prism.diagnosis.assessment.cost import Cost, costs
from prism.diagnosis.assessment.isolation import isolation
from prism.diagnosis.verdicts import GRAPH
from prism.graph.job_view import View
from prism.model import Finding, Severity

CRITICAL = 1.5  # times as long as they would have been steps must be


def assessed(
    view: View, findings: Sequence[Finding], seen: Completeness, *, asked: float = 0.9, least: float = 0.5
) -> list[Finding]:
    """The findings with their cost, the hosts that hold the culprit with probability `asked`, and their confidence.

    Claims of less confidence than `least` become info, and slowness that cost little is not critical. `seen` is how far
    records tell all.
    """
    return [
        _assessed(view, finding, cost, seen, asked, least)
        for finding, cost in zip(findings, costs(view, findings), strict=True)
    ]


def _assessed(view: View, finding: Finding, cost: Cost, seen: Completeness, asked: float, least: float) -> Finding:
    if finding.detector == GRAPH:  # it replayed the graph itself
        return attested(view, finding)
    finding = attested(view, replace(finding, isolate=isolation(view, finding, asked=asked)))
    sure = confidence(view, finding, seen)
    evidence = {**finding.evidence, "observed_slowdown": finding.slowdown, "what_if": None}
    if cost.what_if is not None:
        evidence["what_if"] = round(cost.what_if, 3)
    elif cost.why:
        evidence["no_what_if"] = cost.why
    if seen.reasons:
        evidence["incomplete"] = list(seen.reasons)
    severity = Severity.INFO if sure < least else finding.severity
    if severity is Severity.CRITICAL and finding.kind.startswith("slow") and cost.slowdown < CRITICAL:
        severity = Severity.WARNING  # what it cost is less than it looked
    return replace(
        finding,
        severity=severity,
        slowdown=round(cost.slowdown, 3),
        lost_gpu_s=round(cost.lost_ns / 1e9 * len(view.job.endpoints), 1),
        confidence=sure,
        evidence=evidence,
    )
