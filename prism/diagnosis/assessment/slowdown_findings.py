"""Write a finding on slow steps with what they cost: of a part (`attribution`), or of the job itself (`uneven_work`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness
from prism.findings.message_values import duration
from prism.graph import constants as g
from prism.graph.job_view import View
from prism.model import Finding, Severity


class Cost(NamedTuple):
    """Cost of a cause: its first step and the step after its last, time lost in `slow` of these, ns, and slowdown."""

    steps: tuple[int, int]
    lost: float
    slow: int
    slowdown: float


def slowdown_finding(
    view: View,
    seen: Completeness,
    cost: Cost,
    sure: float,
    verdict: Mapping[str, float],
    numbers: Mapping[str, Any],
    *,
    claim: bool,
    score: float,
    **what: Any,
) -> Finding:
    """Write a finding: a `claim` if it is `sure` enough (confidence, 0 … 1), else information.

    `verdict` is the probability of each class of causes, `numbers` is further evidence, and `what` are other fields.
    """
    (start_ns, end_ns), ranks = view.during(*cost.steps), len(view.job.endpoints)
    severity = Severity.CRITICAL if cost.slowdown >= g.LONG else Severity.WARNING
    return Finding(
        job=view.job.id,
        severity=severity if claim and sure >= c.MIN_EXPLAINED else Severity.INFO,
        start_ns=start_ns,
        end_ns=end_ns,
        slowdown=round(cost.slowdown, 3),
        score=round(min(score, c.MOST_SCORE), 2),
        evidence={
            "steps": view.numbers(*cost.steps),
            "verdict": verdict,
            "lost_ms_per_step": round(cost.lost / cost.slow / 1e6, 3),
            "what_if": round(cost.slowdown, 3),
            "gpu_hours_per_hour": round(ranks * (1 - 1 / max(cost.slowdown, 1.0)), 2),
            **numbers,
            **({"incomplete": list(seen.reasons)} if seen.reasons else {}),
        },
        confidence=sure,
        lost_gpu_s=round(cost.lost / 1e9 * ranks, 1),
        **what,
    )


def without(view: View, slowdown: float) -> str:
    """Text: how long steps take, and would take without the cause."""
    return f"without it steps would take {duration(view.period / slowdown)} instead of {duration(view.period)}"
