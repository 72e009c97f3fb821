"""Check whether the cause that a detector found explains the delays of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness
from prism.diagnosis.assessment.finding_scope import covers_all_steps, steps_of
from prism.diagnosis.assessment.root_causes import overlap
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.slow_steps import chance_of, hidden
from prism.diagnosis.attribution.verdicts import findings
from prism.graph.job_steps import Steps
from prism.model import Finding, Severity

STOPS = ("hang", "crash")
SLOW = ("slow_rank", "slow_link", "slow_switch")


def combine_findings(case: Case, raw: Sequence[Finding], seen: Completeness) -> list[Finding]:
    """Combine findings of detectors with those of the event graph. For slow steps of limited duration the event graph decides.

    Parameters
    ----------
    case : Case
        The job.
    raw : sequence of Finding
        Findings of all detectors.
    seen : Completeness
        How complete the records are.

    Returns
    -------
    list of Finding
        Findings of the graph, then those of the detectors. A detector's claim about the same time, or one that the graph does
        not confirm, becomes information. For parts that were slow in all steps the graph has only peers to compare with: there
        the detectors of links decide, because they compare more closely. In live windows, which have few steps, they decide
        between parts of the network too.
    """
    stops = [one for one in raw if one.kind in STOPS and one.severity is not Severity.INFO]
    by_graph = [one for one in findings(case, seen) if one.kind not in STOPS or not any(_touch(one, stop) for stop in stops)]
    slow = [one for one in raw if one.kind in SLOW and one.severity is not Severity.INFO]
    whole = any(covers_all_steps(case.view, one) for one in by_graph)
    if slow:
        by_graph = [
            replace(one, severity=Severity.INFO) if covers_all_steps(case.view, one) and not _agreed(one, slow) else one
            for one in by_graph
        ]
    claims = [one for one in by_graph if one.severity is not Severity.INFO]
    if case.view.least < Steps.least:  # a live window: few steps; rates decide between parts of the network
        others = [one for one in slow if not any(overlap(claim, one) for claim in claims if claim.kind == "slow_rank")]
        by_graph = [
            one for one in claims if one.kind in ("slow_rank", *STOPS) or not any(overlap(other, one) for other in others)
        ]
        return by_graph + [replace(one, severity=Severity.INFO) if one in slow and one not in others else one for one in raw]

    def overruled(one: Finding) -> bool:
        return any(overlap(claim, one) for claim in claims) or not (whole or is_confirmed(case, one))

    return by_graph + [replace(one, severity=Severity.INFO) if one in slow and overruled(one) else one for one in raw]


def _touch(one: Finding, other: Finding) -> bool:
    """Whether two findings overlap in time."""
    return one.start_ns <= other.end_ns and other.start_ns <= one.end_ns


def _agreed(one: Finding, others: Sequence[Finding]) -> bool:
    """Whether all other findings of the same time name the same cause and parts."""
    return all((other.kind, other.ids) == (one.kind, one.ids) for other in others if overlap(one, other))


def is_confirmed(case: Case, finding: Finding) -> bool:
    """Whether the parts that a finding names explain the delays of its steps about as well as any other candidate.

    A candidate that explains more does not count if chance makes such delays often. True if no comparison is possible.
    """
    start, stop = steps_of(case.view, finding)
    comparisons = (
        case.versus_peers if covers_all_steps(case.view, finding) or case.versus_own_steps is None else [case.versus_own_steps]
    )
    named = {*finding.ids, *(case.view.host(name) for name in finding.ids)}
    best = False
    for comparison in comparisons:
        mine = comparison.explained(comparison.during(start, stop))
        own = np.array([bool(named & {*one.ids, *map(case.view.host, one.ids)}) for one in comparison.which])
        if own.any() and not own.all():
            most, other = float(mine[own].max()), int(np.argmax(np.where(own, -np.inf, mine)))
            clear = comparison.always or chance_of(comparison, other, start, stop) <= c.RARE
            clear = clear and not (comparison.which[other].cause == "work" and hidden(case.view))
            best |= most >= c.ENOUGH / 2 and (most >= float(mine[other]) - c.NEARLY or not clear)
    return best or not comparisons
