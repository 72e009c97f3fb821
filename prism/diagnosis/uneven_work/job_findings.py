"""Write the findings on causes of lost time that lie in the job itself: uneven stages, uneven data, late input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness
from prism.diagnosis.assessment.slowdown_findings import Cost, slowdown_finding
from prism.diagnosis.uneven_work.job_causes import JobCause
from prism.diagnosis.uneven_work.pipeline_causes import pipeline_causes
from prism.diagnosis.uneven_work.step_causes import step_causes
from prism.graph.job_transfers import Transfers
from prism.graph.job_view import View
from prism.model import Finding, Severity

JOB = "job_causes"


def job_findings(view: View, transfers: Transfers | None, seen: Completeness, known: Sequence[Finding] = ()) -> list[Finding]:
    """Write the findings on causes in the job itself; `seen`: completeness of its records.

    A part that a `known` finding claims to be slow in most steps explains uneven work, too: then nothing is added.
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
    lost, count = (end - start) * (1 - 1 / max(one.slowdown, 1.0)), one.stop - one.start
    return slowdown_finding(
        view,
        seen,
        Cost((one.start, one.stop), lost, count, one.slowdown),
        sure,
        _classes(one, sure),
        {"observed_slowdown": 1.0, **one.numbers},
        claim=one.claim and one.slowdown >= 1 + 2 * c.WORTH,
        detector=JOB,
        kind=one.kind,
        subject=one.subject,
        ids=one.ids,
        score=one.score,
        message=one.text,
    )


def _classes(one: JobCause, sure: float) -> dict[str, float]:
    """Probability of network, machine, job, and unknown; what may be a slow rank is a stage with more work otherwise."""
    slow = one.kind == "slow_rank"
    job = round(sure * (1 - one.probability) / one.probability, 3) if slow else sure
    machine = sure if slow else 0.0
    return {"network": 0.0, "machine": machine, "job": job, "unknown": round(max(1 - machine - job, 0.0), 3)}
