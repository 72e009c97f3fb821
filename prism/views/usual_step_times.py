"""Compute usual step times of a job before a finding, for charts and heat strips, ms.

They are medians over the newest steps before the finding's first one, without steps of other claims. A case stores them when it
opens (`Case.usual`), so that neither the fault nor time changes the reference. Without a claim all known steps count. Unknown
with fewer than three earlier steps, for example if a job is slow from its first step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.findings.same_finding import is_claim
from prism.model import PHASES, Finding, JobDiagnosis
from prism.tracking.board import Case
from prism.tracking.case_tracking import TrackedFinding
from prism.views.step_cells import OWN_WORK, CellRange, cell_values, step_grid
from prism.views.step_sums import sums

STEP = "step"  # the measure of the job's own steps
MAX_STEPS, MIN_STEPS = 64, 3  # steps


class Usual(NamedTuple):
    """Usual times of a step of the job and of a cell of a measure, ms, None if unknown; the id of the case they precede."""

    step_ms: float | None
    value_ms: float | None
    case: str | None


def with_usual(tracked: Iterable[TrackedFinding], jobs: Mapping[str, JobDiagnosis]) -> tuple[TrackedFinding, ...]:
    """Add usual times to the tracked findings of open cases that have none; `jobs` by id."""
    tracked = tuple(tracked)
    return tuple(
        replace(entry, case=replace(case, usual=usual_before(found, case, [other.case for other in tracked])))
        if entry.told and not case.usual and case.state == "open" and found is not None
        else entry
        for entry in tracked
        for case in (entry.case,)
        for found in (jobs.get(entry.case.finding.job),)
    )


def usual_times(job: JobDiagnosis, cases: Collection[Case], measure: str, case_id: str | None = None) -> Usual:
    """Choose the usual times of a job for a measure: before the case `case_id`, else before a claim, else of all steps.

    Of the job's `cases`, the first open claim counts, else the newest closed one.
    """
    claims = sorted((case for case in cases if is_claim(case.finding)), key=lambda case: case.finding.start_ns)
    going = [case for case in claims if case.state == "open"]
    chosen = next((case for case in cases if case.id == case_id), going[0] if going else claims[-1] if claims else None)
    if chosen is None:
        values = _medians(job, np.arange(1, len(sums(job).start_ns)), (measure,))
    else:
        values = dict(chosen.usual) or usual_before(job, chosen, claims, (measure,))
    return Usual(values.get(STEP), values.get(measure), chosen.id if chosen else None)


def usual_before(
    job: JobDiagnosis, case: Case, cases: Iterable[Case], measures: Iterable[str] | None = None
) -> dict[str, float]:
    """Compute the usual times before a case, by measure (default: all of the job's); empty with too few known steps.

    Ranks end a step at slightly different times, so a step is before a time if three quarters of it are.
    """
    known, finding = sums(job), case.finding
    most = known.start_ns + 0.75e6 * known.duration_ms
    quiet: NDArray[np.bool_] = most <= _begin(finding)
    quiet[:1] = False  # its start was not visible
    for other in cases:
        if other.id != case.id and other.finding.job == finding.job and is_claim(other.finding):
            quiet &= (most <= _begin(other.finding)) | (most > other.finding.end_ns + 0.5e6 * known.duration_ms)
    return _medians(job, np.flatnonzero(quiet)[-MAX_STEPS:], measures)


def _begin(finding: Finding) -> float:
    """Return the start of the finding's first step, which a pause may have delayed."""
    return finding.start_ns - 1e6 * float(finding.evidence.get("paused_ms", 0.0))


def _medians(found: JobDiagnosis, places: NDArray[np.intp], measures: Iterable[str] | None = None) -> dict[str, float]:
    """Compute the median of each measure over some complete steps of a job, by place."""
    known, line, ranks = sums(found), found.timeline, len(found.job.endpoints)
    places = places[np.isfinite(known.duration_ms[places])]
    if len(places) < MIN_STEPS:
        return {}
    words = [word for word, spent in zip(PHASES, known.spent.sum(axis=0), strict=True) if spent > 0]
    every = ["duration", *words, *(["work"] if set(words) & set(OWN_WORK) else [])]
    first, last = int(places[0]), int(places[-1])
    begin = int(known.start_ns[first] + 0.25e6 * known.duration_ms[first])
    end = int(known.start_ns[last] + 0.75e6 * known.duration_ms[last])
    grid = step_grid(line, range(ranks), CellRange(begin, end))
    columns = places + line.first - grid.first
    columns = columns[(columns >= 0) & (columns < grid.there.shape[1])]
    out = {STEP: float(np.median(known.duration_ms[places]))}
    for measure in every if measures is None else set(every) & set(measures):
        values = cell_values(line, 0, ranks, grid, measure)[:, columns]
        values = values[np.isfinite(values)]
        if len(values):
            out[measure] = round(float(np.median(values)), 6)
    return out
