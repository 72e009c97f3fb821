"""Write information on steps that take longer for a reason that no candidate explains, with the candidates compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness
from prism.diagnosis.assessment.slowdown_findings import Cost, slowdown_finding
from prism.diagnosis.attribution._delay_spans import SlowSpan
from prism.diagnosis.attribution.comparisons import Case, Comparison
from prism.diagnosis.attribution.slow_steps import Verdict, verdict_of
from prism.diagnosis.attribution.verdicts import GRAPH, classes, compared
from prism.findings.message_values import beside, duration, percent, step_range
from prism.graph import constants as g
from prism.graph.job_view import View
from prism.loops.arrays.change_points import by_chance, held, shifts, spread
from prism.model import Finding


def unexplained(case: Case, known: Sequence[Finding], seen: Completeness) -> list[Finding]:
    """Write information on each span of slow steps in which no finding is `known`; `seen`: completeness of the job's records.

    For whole recordings: of a window, the next steps may show the cause.
    """
    view = case.view
    if not case.may_have_slow_steps or (own := case.versus_own_steps) is None:
        return []
    out = []
    for one in _slow_spans(view, own):
        begin, end = view.during(one.start, one.stop)
        if not any(other.start_ns < end and begin < other.end_ns for other in known):
            out.append(_finding(view, one, own, seen))
    return out


def _slow_spans(view: View, own: Comparison) -> list[SlowSpan]:
    """Spans of steps that take longer than usual beyond chance; not those a job begins with, which programs' compilation may
    stretch.
    """
    longer = np.where(view.comparable, own.delays.more / max(own.delays.took, 1.0), np.nan)[g.SPAN :]
    sigma = min(spread(longer), spread(np.diff(longer)) / float(np.sqrt(2)))
    found = shifts(longer, sigma, least=view.least, height=4 * c.WORTH, score=c.SIGMAS)
    lasting = (one for one in found if held(longer, one, one.height / 2) >= c.ALWAYS)
    return [
        SlowSpan(one.start + g.SPAN, one.stop + g.SPAN, one.score)
        for one in lasting
        if by_chance(longer[None], 0, one) <= c.RARE
    ]


def _finding(view: View, one: SlowSpan, own: Comparison, seen: Completeness) -> Finding:
    during = own.during(one.start, one.stop)
    found = verdict_of(view, own, own.explained(during), one, during)
    lost = float(np.maximum(own.delays.more[during], 0.0).sum())
    took = float(np.nanmedian(view.durations[during]))
    slowdown = view.slowdown(one.start, one.stop)
    usual = beside(duration(took), duration(took / slowdown), slowdown)
    return slowdown_finding(
        view,
        seen,
        Cost((one.start, one.stop), lost, int(during.sum()), slowdown),
        round(seen.share, 3),
        classes(found, seen.share * (found.probability + sum(probability for _, probability in found.others))),
        {"candidates": compared(found), "observed_slowdown": round(slowdown, 3)},
        claim=False,
        detector=GRAPH,
        kind="slow_step",
        subject="job",
        ids=(view.job.id,),
        score=one.score,
        message=f"{step_range(view, one.start, one.stop)} take {usual}; {_likeliest(found)}",
    )


def _likeliest(found: Verdict) -> str:
    """Text: the candidate that explains most."""
    who = found.candidate
    what = "own work" if who.cause == "work" else "the network"
    if found.share < c.DOUBT:
        return "no rank and no part of the network explains that"
    return f"{what} at {' and '.join(who.ids)} explains {percent(found.share)} of that, and no other part more"
