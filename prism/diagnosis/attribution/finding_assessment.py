"""Add to the findings of one job: what each costs, which hosts to isolate, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prism.detectors.observations.switch_losses import with_switch_losses
from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness, confidence
from prism.diagnosis.assessment.constants import ISOLATED
from prism.diagnosis.assessment.isolation import isolation
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.finding_cost import Cost, costs
from prism.diagnosis.attribution.verdicts import GRAPH
from prism.graph.job_view import View
from prism.model import Finding, Severity


def assess_findings(
    case: Case, findings: Sequence[Finding], seen: Completeness, *, min_probability: float = ISOLATED, least: float = c.CERTAIN
) -> list[Finding]:
    """Add cost, hosts to isolate and confidence to findings.

    Parameters
    ----------
    case : Case
        The job.
    findings : sequence of Finding
        Its findings.
    seen : Completeness
        How complete the records are.
    min_probability : float
        Probability that the isolated hosts contain the cause.
    least : float
        Claims with less confidence become information. Slowness with little cost is not critical.

    Returns
    -------
    list of Finding
        In the order of `findings`.
    """
    return [
        _assessed(case.view, finding, cost, seen, min_probability, least)
        for finding, cost in zip(findings, costs(case, findings), strict=True)
    ]


def _assessed(view: View, finding: Finding, cost: Cost, seen: Completeness, min_probability: float, least: float) -> Finding:
    if finding.detector == GRAPH:  # the event graph has replayed the steps already
        return with_switch_losses(view, finding)
    finding = with_switch_losses(view, replace(finding, isolate=isolation(view, finding, min_probability=min_probability)))
    sure = confidence(view, finding, seen)
    evidence = {**finding.evidence, "observed_slowdown": finding.slowdown, "what_if": None}
    if cost.what_if is not None:
        evidence["what_if"] = round(cost.what_if, 3)
    elif cost.why:
        evidence["no_what_if"] = cost.why
    if seen.reasons:
        evidence["incomplete"] = list(seen.reasons)
    severity = Severity.INFO if sure < least else finding.severity
    if severity is Severity.CRITICAL and finding.kind.startswith("slow") and cost.slowdown < c.CRITICAL:
        severity = Severity.WARNING  # the replayed cost is less than the observed slowdown
    return replace(
        finding,
        severity=severity,
        slowdown=round(cost.slowdown, 3),
        lost_gpu_s=round(cost.lost_ns / 1e9 * len(view.job.endpoints), 1),
        confidence=sure,
        evidence=evidence,
    )
