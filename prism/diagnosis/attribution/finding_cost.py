"""Compute the cost of findings: step time with and without the fault, and the GPU time lost.

Source: Lin et al., OSDI 2025: replay the step's dependencies with the faulty part at its usual speed or, if it was always slow,
at the speed of its peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from prism.diagnosis.assessment.finding_scope import covers_all_steps, steps_of
from prism.diagnosis.attribution.candidates import Candidate
from prism.diagnosis.attribution.comparisons import Case, Comparison
from prism.diagnosis.constants import LEAST, SAVED
from prism.graph.job_view import View
from prism.loops.arrays.intervals import Ints
from prism.model import Finding

NETWORK = ("slow_link", "slow_switch")
REPLAYED = "what_if"  # evidence of findings whose cost is known: the event graph has replayed their steps


class Cost(NamedTuple):
    """Observed over ideal step time, and total loss, ns. `what_if` is None if steps could not be replayed; `why` is
    the reason.
    """

    slowdown: float
    lost_ns: float
    what_if: float | None
    why: str = ""


def costs(case: Case, findings: Sequence[Finding]) -> list[Cost]:
    """Compute the cost of each finding of a job."""
    view, out = case.view, list[Cost]()
    for finding in findings:
        if REPLAYED in finding.evidence:
            lost = 1e9 * finding.lost_gpu_s / max(len(view.job.endpoints), 1)
            out.append(Cost(finding.slowdown, lost, finding.slowdown))
        elif finding.kind in ("hang", "crash"):
            out.append(_outage(view, finding))
        elif finding.kind in NETWORK:
            out.append(_replayed(case, finding))
        else:
            out.append(_observed(view, finding, "this kind of finding has no culprit whose work could be replaced"))
    return out


def _outage(view: View, finding: Finding) -> Cost:
    """Cost of a hang or crash: time until the job continued, or the records end, minus a usual step."""
    before = view.ends[view.ends < finding.end_ns]
    after = view.ends[view.ends >= finding.end_ns]
    if finding.kind == "hang" or not len(view.ends):
        lost = float(finding.end_ns - finding.start_ns) - view.period
    elif len(after):
        lost = float(after[0] - (before[-1] if len(before) else finding.start_ns)) - view.period
    else:
        lost = float(view.flows.end_ns.max() - (before[-1] if len(before) else finding.start_ns))
    return Cost(finding.slowdown, max(lost, 0.0), None)


def _observed(view: View, finding: Finding, why: str) -> Cost:
    """Cost from observed step durations: the finding's steps against the others."""
    first, stop = steps_of(view, finding)
    took = float(np.nansum(view.durations[first:stop])) if len(view.ends) else 0.0
    return Cost(finding.slowdown, took * (1 - 1 / max(finding.slowdown, 1.0)), None, why)


def _replayed(case: Case, finding: Finding) -> Cost:
    """Cost of a finding on the network: its steps with and without the new delays of the connections that it slowed.

    If it covers all steps only the rates of other connections show what is usual.
    """
    view, (first, stop) = case.view, steps_of(case.view, finding)
    took = float(np.nansum(view.durations[max(first, 1) : stop])) if stop > max(first, 1) else 0.0
    if took <= 0:
        return _observed(view, finding, "its steps have no known duration")
    if covers_all_steps(view, finding):
        lost = took * _longer(view, finding) / view.period
    elif case.versus_own_steps is None:
        return _observed(view, finding, "too few steps define what is usual")
    else:
        lost = _saved(view, case.versus_own_steps, finding, first, stop)
    lost = min(lost, (1 - LEAST) * took)
    slowdown = took / (took - lost)
    return Cost(slowdown, lost, slowdown)


def _saved(view: View, comparison: Comparison, finding: Finding, first: int, stop: int) -> float:
    """Time that the steps would have saved without the new delays of the slowed connections, ns; all that they lost if this is
    most of it.
    """
    lanes, during = _lanes(view, comparison, finding), comparison.during(max(first, 1), stop)
    gone = Candidate("network", finding.subject, finding.ids, lanes, lanes[:0]).gone(comparison.delays.transfers, during)
    more = float(np.maximum(comparison.delays.more[during], 0.0).sum())
    saved = float(np.maximum(comparison.delays.saved(gone, during)[during], 0.0).sum())
    return more if saved >= SAVED * more else saved


def _lanes(view: View, comparison: Comparison, finding: Finding) -> Ints:
    """Lanes that a finding on the network slowed."""
    place = {address: i for i, address in enumerate(view.job.endpoints)}
    edges = {(place.get(a), place.get(b)) for a, b in finding.evidence.get("edges", ())}
    pairs = comparison.delays.transfers.lanes.tolist()
    return np.array([i for i, (a, b) in enumerate(pairs) if (a, b) in edges], np.int64)


def _longer(view: View, finding: Finding) -> float:
    """Excess time per step for which the slowest of a finding's connections sends, against the usual rate in bursts, ns."""
    edges = {(view.code[a], view.code[b]) for a, b in finding.evidence.get("edges", ())}
    keys, rates = view.rates
    own = [i for i, key in enumerate(keys) if key in edges]
    if not own:
        return 0.0
    sending = np.nanmedian(view.volumes[own] * 8e9 / rates[own], axis=1)
    factor = float(finding.evidence.get("factor", 1.0))
    return float(np.nanmax(sending)) * (1 - 1 / max(factor, 1.0))
