"""Write the findings on causes of lost time that lie in the job itself: uneven stages, uneven data, late input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness
from prism.diagnosis.uneven_work.job_causes import JobCause
from prism.diagnosis.uneven_work.pipeline_causes import pipeline_causes
from prism.diagnosis.uneven_work.step_causes import step_causes
from prism.graph.job_transfers import Transfers
from prism.graph.job_view import View
from prism.model import Finding, Severity

JOB = "job_causes"


def job_findings(view: View, transfers: Transfers | None, seen: Completeness, known: Sequence[Finding] = ()) -> list[Finding]:
    """Write the findings on causes in the job itself.

    Parameters
    ----------
    view : View
        The job by step and edge.
    transfers : Transfers or None
        Its transfers.
    seen : Completeness
        How complete its records are.
    known : sequence of Finding
        Its other findings. A part that they claim to be slow in most steps explains uneven work, too: then nothing is added.

    Returns
    -------
    list of Finding
    """
    if any(one.severity is not Severity.INFO and 2 * _shared(one, view) >= 1 for one in known):
        return []
    return [_finding(view, one, seen) for one in [*pipeline_causes(view, transfers), *step_causes(view, transfers)]]


def _shared(one: Finding, view: View) -> float:
    """Share of the job's steps that a finding covers."""
    start, end = view.during(1, len(view.ends))
    return (min(one.end_ns, end) - max(one.start_ns, start)) / max(end - start, 1)


def _finding(view: View, one: JobCause, seen: Completeness) -> Finding:
    start, end = view.during(one.start, one.stop)
    sure = round(float(np.clip(seen.share * one.probability, 0.0, 1.0)), 3)
    severity = Severity.WARNING if one.slowdown < c.CRITICAL else Severity.CRITICAL
    claim = one.claim and sure >= c.CERTAIN and one.slowdown >= 1 + 2 * c.WORTH
    ranks, lost = len(view.job.endpoints), (end - start) * (1 - 1 / max(one.slowdown, 1.0))
    return Finding(
        detector=JOB,
        kind=one.kind,
        job=view.job.id,
        severity=severity if claim else Severity.INFO,
        subject=one.subject,
        ids=one.ids,
        start_ns=start,
        end_ns=end,
        slowdown=round(one.slowdown, 3),
        score=round(min(one.score, c.MOST_SCORE), 2),
        message=one.text,
        evidence={
            "steps": view.numbers(one.start, one.stop),
            "verdict": _classes(one, sure),
            "lost_ms_per_step": round(lost / (one.stop - one.start) / 1e6, 3),
            "what_if": round(one.slowdown, 3),
            "observed_slowdown": 1.0,
            "gpu_hours_per_hour": round(ranks * (1 - 1 / max(one.slowdown, 1.0)), 2),
            **one.numbers,
            **({"incomplete": list(seen.reasons)} if seen.reasons else {}),
        },
        confidence=sure,
        lost_gpu_s=round(lost / 1e9 * ranks, 1),
    )


def _classes(one: JobCause, sure: float) -> dict[str, float]:
    """Probability of network, machine, job, and unknown; what may be a slow rank is a stage with more work otherwise."""
    slow = one.kind == "slow_rank"
    job = round(sure * (1 - one.probability) / one.probability, 3) if slow else sure
    machine = sure if slow else 0.0
    return {"network": 0.0, "machine": machine, "job": job, "unknown": round(max(1 - machine - job, 0.0), 3)}
