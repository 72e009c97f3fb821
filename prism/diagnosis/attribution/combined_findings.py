"""Combine the findings on stops of a job with those on its slow steps."""

from __future__ import annotations

from collections.abc import Sequence

from prism.diagnosis.assessment.confidence import Completeness
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.verdicts import findings
from prism.model import Finding, Severity

STOPS = ("hang", "crash")


def combine_findings(case: Case, stops: Sequence[Finding], seen: Completeness) -> list[Finding]:
    """Combine findings on stops with those of the event graph.

    Parameters
    ----------
    case : Case
        The job.
    stops : sequence of Finding
        Hangs and crashes.
    seen : Completeness
        How complete the records are.

    Returns
    -------
    list of Finding
        Findings of the graph, then the `stops`. A claim about a stop excludes a stop of the graph that overlaps with it.
    """
    known = [one for one in stops if one.severity is not Severity.INFO]
    slow = [one for one in findings(case, seen) if one.kind not in STOPS or not any(_overlaps(one, stop) for stop in known)]
    return [*slow, *stops]


def _overlaps(one: Finding, other: Finding) -> bool:
    """Whether two findings overlap in time."""
    return one.start_ns <= other.end_ns and other.start_ns <= one.end_ns
