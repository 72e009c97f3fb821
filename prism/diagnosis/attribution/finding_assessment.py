"""Add to the findings of one job: what a stop costs, which hosts to isolate, how sure it is, and the losses of switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness, confidence
from prism.diagnosis.assessment.isolation import isolation
from prism.diagnosis.attribution.verdicts import GRAPH
from prism.diagnosis.switch_evidence.switch_losses import with_switch_losses
from prism.graph.job_view import View
from prism.model import Finding, Severity


def assess_findings(view: View, findings: Sequence[Finding], seen: Completeness) -> list[Finding]:
    """Add cost, hosts to isolate and confidence to findings on stops, and the losses of switches to those on the network.

    The event graph has assessed its own. Claims with too little confidence become information.
    """
    return [with_switch_losses(view, one) if one.detector == GRAPH else _assessed(view, one, seen) for one in findings]


def _assessed(view: View, finding: Finding, seen: Completeness) -> Finding:
    finding = replace(finding, isolate=isolation(view, finding))
    sure = confidence(view, finding, seen)
    evidence = {**finding.evidence, "observed_slowdown": finding.slowdown, "what_if": None}
    if seen.reasons:
        evidence["incomplete"] = list(seen.reasons)
    return replace(
        finding,
        severity=Severity.INFO if sure < c.MIN_EXPLAINED else finding.severity,
        slowdown=round(finding.slowdown, 3),
        lost_gpu_s=round(outage_ns(view, finding) / 1e9 * len(view.job.endpoints), 1),
        confidence=sure,
        evidence=evidence,
    )


def outage_ns(view: View, finding: Finding) -> float:
    """Cost of a hang or crash, ns: time until the job continued, or the records end, minus a usual step."""
    before = view.ends[view.ends < finding.end_ns]
    after = view.ends[view.ends >= finding.end_ns]
    if finding.kind == "hang" or not len(view.ends):
        lost = float(finding.end_ns - finding.start_ns) - view.period
    elif len(after):
        lost = float(after[0] - (before[-1] if len(before) else finding.start_ns)) - view.period
    else:
        lost = float(view.flows.end_ns.max() - (before[-1] if len(before) else finding.start_ns))
    return max(lost, 0.0)
