"""Detect symptoms: steps longer than the job's others, and data-parallel groups slower than the job's others.

Source: LLMPrism (arXiv 2505.00342), cross-step and cross-group diagnosis. These show that something is slow, not its cause, so
they are reported as information.
"""

from __future__ import annotations

import numpy as np

from prism.detectors import constants as c
from prism.findings.message_values import beside, duration, step_range, steps_take
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import Shift, middle, shifts, spread, usual
from prism.loops.arrays.group_sums import spans
from prism.model import Finding, FindingKind, Severity, SubjectType


def slow_step(view: View, *, factor: float = c.SLOWER, sigmas: float = c.SIGMAS) -> list[Finding]:
    """Detect spans of steps `factor` times longer than the job's others."""
    return [
        _finding_of(
            view, one, "slow_step", "job", (view.job.id,), steps_take(view, one.start, one.stop, float(np.exp(one.height)))
        )
        for one in longer_steps(view, factor=factor, sigmas=sigmas)
    ]


def longer_steps(view: View, *, factor: float = c.SLOWER, sigmas: float = c.SIGMAS) -> list[Shift]:
    """Find spans of two steps or more, `factor` times longer than the job's others."""
    if len(view.ends) < c.COMPARED_STEPS:
        return []
    level = np.log(np.maximum(view.durations, 1.0) / view.period)
    return shifts(level, spread(level, floor=c.VOLUME_NOISE), least=2, height=np.log(factor), score=sigmas)


def slow_group(view: View, *, factor: float = c.SLOWER_GROUP, sigmas: float = c.SIGMAS) -> list[Finding]:
    """Detect data-parallel groups whose reduction took `factor` times longer than usual, unlike that of other groups."""
    groups = [s for s in view.parallelism.streams if s.kind == "dp"]
    if len(groups) < c.LEAST_RANKS or len(view.ends) < c.LEAST_STEPS:
        return []
    level = np.stack([_spans(view, stream.rows) for stream in groups])
    spent = level
    level = level - usual(level)
    moved = level - middle(level, axis=0)
    sigma = spread(moved, floor=c.VOLUME_NOISE)
    out = []
    for i, stream in enumerate(groups):
        for one in shifts(moved[i], sigma, least=view.least, height=np.log(factor), score=sigmas):
            now, times = float(np.exp(np.nanmedian(spent[i, one.start : one.stop]))), float(np.exp(one.height))
            took = beside(duration(now), duration(now / times), times)
            which = step_range(view, one.start, one.stop)
            text = f"gradient reduction takes {took} in {which}; the job's other groups are unchanged"
            out.append(_finding_of(view, one, "slow_group", "group", stream.members, text))
    return out


def _spans(view: View, rows: np.ndarray) -> Floats:
    """Logarithm of the time from first to last record of a stream in each step; NaN if it was silent."""
    n = len(view.ends)
    step = view.step_of(view.flows.end_ns[rows])
    first, last = np.full(n + 1, np.iinfo(np.int64).max), np.zeros(n + 1, np.int64)
    spans(step, view.flows.start_ns[rows], view.flows.end_ns[rows], first, last)
    length = (last - first)[:n].astype(np.float64)
    return np.log(np.where(last[:n] > 0, np.maximum(length, 1.0), np.nan))


def _finding_of(view: View, one: Shift, kind: FindingKind, subject: SubjectType, ids: tuple[str, ...], text: str) -> Finding:
    start, end = view.during(one.start, one.stop)
    return Finding(
        detector=kind,
        kind=kind,
        job=view.job.id,
        severity=Severity.INFO,
        subject=subject,
        ids=ids,
        start_ns=start,
        end_ns=end,
        slowdown=round(max(view.slowdown(one.start, one.stop), 1.0), 3),
        score=round(min(one.score, c.MOST_SCORE), 2),
        message=text,
        evidence={"steps": view.numbers(one.start, one.stop), "factor": round(float(np.exp(one.height)), 3)},
    )
