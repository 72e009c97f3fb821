"""Compute the cost of findings: step time with and without the fault, and the GPU time lost.

Source: Lin et al., OSDI 2025: replay the step's dependencies with the faulty part at its usual speed or, if it was always slow,
at the speed of its peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.diagnosis.assessment import constants as c
from prism.graph.job_view import View
from prism.graph.what_if import DONE, MOVE, WORK, Floats, Graph, ends, graph_of, replay
from prism.model import Finding, Severity

Mask = NDArray[np.bool_]
REPLAYED = "what_if"  # evidence of findings whose cost is known: the event graph has replayed their steps


class Cost(NamedTuple):
    """Observed over ideal step time, and total loss, ns. `what_if` is None if steps could not be replayed; `why` is
    the reason.
    """

    slowdown: float
    lost_ns: float
    what_if: float | None
    why: str = ""


def costs(view: View, findings: Sequence[Finding]) -> list[Cost]:
    """Compute the cost of each finding of a job."""
    steady = [f for f in findings if f.kind in ("slow_rank", "slow_link", "slow_switch")]
    wanted = any(REPLAYED not in f.evidence for f in steady)
    graph = graph_of(view) if wanted and len(view.ends) > 2 else None
    out = []
    for finding in findings:
        if REPLAYED in finding.evidence:
            lost = 1e9 * finding.lost_gpu_s / max(len(view.job.endpoints), 1)
            out.append(Cost(finding.slowdown, lost, finding.slowdown))
        elif finding.kind in ("hang", "crash"):
            out.append(_outage(view, finding))
        elif "unseen" in finding.evidence:
            out.append(_observed(view, finding, "waits inside its host are not visible on the network"))
        elif graph is None or finding not in steady:
            out.append(_observed(view, finding, "this kind of finding has no culprit whose work could be replaced"))
        else:
            out.append(_replayed(view, graph, finding, steady))
    return out


def steps_of(view: View, finding: Finding) -> tuple[int, int]:
    """First step of a finding, and the step after its last."""
    if not len(view.ends):
        return 0, 0
    first = int(np.argmin(np.abs(view.begins - finding.start_ns)))
    return first, max(int(np.argmin(np.abs(view.ends - finding.end_ns))) + 1, first + 1)


def covers_all_steps(view: View, finding: Finding) -> bool:
    """Whether a finding covers all steps of a job, so that only peers show what is usual; the first step may be missing."""
    start, stop = steps_of(view, finding)
    return stop - start >= len(view.ends) - 1


def ranks_of(view: View, finding: Finding) -> list[int]:
    """Ranks that a finding blames, with the ranks of their hosts that wait for them invisibly."""
    topology, place = view.topology, {a: i for i, a in enumerate(view.job.endpoints)}
    named = {*finding.ids, *finding.evidence.get("ranks", ())}
    own = {a for a in place if a in named or (topology is not None and topology.host(a) in named)}
    for members in view.parallelism.unseen:
        if own & set(members):
            own |= set(members)
    return sorted(place[a] for a in own)


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


def _replayed(
    view: View, graph: Graph, finding: Finding, claims: Sequence[Finding], *, tolerance: float = c.REPLAY_ERROR
) -> Cost:
    """Cost from a replay of the finding's steps with and without the fault. The replay with the fault must match within
    `tolerance`.

    If other steps were healthy, the replay without the fault must match these within `tolerance` as well.
    """
    n = len(view.ends)
    first, stop = steps_of(view, finding)
    first = max(first, 1)
    if stop <= first:
        return _observed(view, finding, "the start of its first step is not in the records")
    inside = np.zeros(n, np.bool_)
    inside[first:stop] = True
    healthy = ~inside
    for other in claims:
        if other.severity is not Severity.INFO:
            healthy[slice(*steps_of(view, other))] = False
    healthy[0] = False
    gap = _without_fault(view, graph, finding, inside, healthy)
    took = [ends(graph, replay(graph, g), n) for g in (graph.gap, gap)]
    if not all(np.isfinite(e[[first - 1, stop - 1]]).all() for e in took):
        return _observed(view, finding, "not all transfers that its steps waited for are in the records")
    seen, again, ideal = (float(e[stop - 1] - e[first - 1]) for e in (view.ends.astype(np.float64), *took))
    if seen <= 0:
        return _observed(view, finding, "its steps have no duration")
    if abs(again / seen - 1) > tolerance or ideal <= 0:
        return _observed(view, finding, f"the replay of the observed steps takes {again / seen:.2f}× the observed time")
    slowdown = max(again / ideal, 1.0)
    if healthy.sum() >= c.HEALTHY_STEPS:
        usual = float(np.nanmedian(view.durations[healthy])) * (stop - first)
        for other in claims:
            if other is not finding and other.severity is not Severity.INFO and _meet(view, finding, other):
                gap = np.minimum(gap, _without_fault(view, graph, other, inside, healthy))
        whole = ends(graph, replay(graph, gap), n)
        whole_ideal = float(whole[stop - 1] - whole[first - 1]) if np.isfinite(whole[[first - 1, stop - 1]]).all() else np.inf
        if usual <= 0:  # sub-steps that ended together were detected as steps
            return _observed(view, finding, "the healthy steps have no duration")
        if abs(whole_ideal / usual - 1) > tolerance:
            why = f"without the fault the replayed steps would take {whole_ideal / usual:.2f}× the time of healthy steps"
            cost = _observed(view, finding, why)
            return cost._replace(slowdown=max(seen / usual, 1.0), lost_ns=max(seen - usual, 0.0))
    return Cost(slowdown, max(again - ideal, 0.0), slowdown)


def _meet(view: View, a: Finding, b: Finding) -> bool:
    (first, stop), (begin, end) = steps_of(view, a), steps_of(view, b)
    return first < end and begin < stop


def _without_fault(view: View, graph: Graph, finding: Finding, inside: Mask, healthy: Mask) -> Floats:
    """Gaps of the graph with the faulty part's gaps reduced to its usual, or its peers', values."""
    n = len(view.ends)
    works = finding.kind == "slow_rank"
    key, keys = (graph.rank, ranks_of(view, finding)) if works else (graph.op, _streams(view, finding))
    moved = graph.kind == WORK if works else (graph.kind == MOVE) | (graph.kind == DONE)
    at = moved & (graph.step < n)
    total = np.zeros((int(key.max(initial=0)) + 1, n))
    np.add.at(total, (key[at], graph.step[at]), graph.gap[at])
    permanent = healthy.sum() < c.HEALTHY_STEPS
    gap = graph.gap.copy()
    for one in keys:
        if one >= len(total):
            continue
        goal = _at_peer_speed(view, total, finding, one, inside, keys) if permanent else float(np.median(total[one, healthy]))
        scale = np.minimum(goal / np.maximum(total[one], 1.0), 1.0)
        mine = at & (key == one) & inside[np.minimum(graph.step, n - 1)]
        gap[mine] *= scale[graph.step[mine]]
    return gap


def _streams(view: View, finding: Finding) -> list[int]:
    """Streams that a finding on a NIC, link or switch slows."""
    edges: set[tuple[str, ...]] = {tuple(edge) for edge in finding.evidence.get("edges", ())}
    named = set(finding.ids)
    out = []
    for i, stream in enumerate(view.parallelism.streams):
        if stream.kind == "pp":
            hit = stream.members in edges or (finding.subject == "endpoint" and bool(named & set(stream.members)))
        else:
            hit = any(set(edge) <= set(stream.members) for edge in edges)
        out += [i] if hit else []
    return out


def _at_peer_speed(view: View, total: Floats, finding: Finding, one: int, inside: Mask, keys: list[int]) -> float:
    """Time of a permanently slow rank or stream at the speed of its peers, ns per step; infinite without peers."""
    mine = float(np.median(total[one, inside]))
    if finding.kind == "slow_rank":
        stages, ranks = view.parallelism.stages, view.job.endpoints
        like = [r for r, a in enumerate(ranks) if r not in keys and stages.get(a) == stages.get(ranks[one]) and r < len(total)]
        return float(np.median(total[like][:, inside])) if like else np.inf
    streams = view.parallelism.streams
    octets = [float(view.flows.octets[s.rows].sum()) for s in streams]
    like = [
        i for i, s in enumerate(streams)
        if i not in keys and s.kind == streams[one].kind and len(s.members) == len(streams[one].members) and i < len(total)
    ]  # fmt: skip
    if like:
        return float(np.median([np.median(total[i, inside]) / max(octets[i], 1.0) for i in like])) * octets[one]
    return mine * _rates(view, finding, set(streams[one].members))


def _rates(view: View, finding: Finding, members: set[str]) -> float:
    """Rate of a group's slow edges over that of its other edges: the gain of a ring if the slow edges were as fast as the
    others.
    """
    edges = {tuple(edge) for edge in finding.evidence.get("edges", ())}
    keys, rates = view.rates
    names = [tuple(view.flows.endpoints[code] for code in key) for key in keys]
    bad = [i for i, name in enumerate(names) if name in edges and set(name) <= members]
    good = [i for i, name in enumerate(names) if name not in edges and set(name) <= members]
    if not bad or not good:
        return 1.0
    return float(min(np.nanmedian(rates[bad]) / np.nanmedian(rates[good]), 1.0))
