"""What a verdict says to an operator: network, machine or unknown; who; how much; what was compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from prism.certainty import Completeness
from prism.detectors.view import View
from prism.detectors.wording import beside, duration, percent, rate, steps_take
from prism.diagnosis.candidates import Candidate
from prism.diagnosis.case import Case
from prism.diagnosis.constants import CERTAIN, CRITICAL, SLOWED, TOLD
from prism.diagnosis.slow import Verdict, verdicts
from prism.model import Finding, FindingKind, Isolation, Severity

GRAPH = "event_graph"
CLASS = {"work": "machine", "network": "network"}


def findings(case: Case, seen: Completeness) -> list[Finding]:
    """The findings on a job's slow steps; `seen` is how far its records tell all."""
    return [_finding(case.view, one, seen) for one in verdicts(case)]


def _finding(view: View, one: Verdict, seen: Completeness) -> Finding:
    start, end = view.during(one.start, one.stop)
    chance = 0.5 ** (one.stop - one.start + 1)
    sure = round(float(np.clip(seen.share * (1 - chance) * one.probability, 0.0, 1.0)), 3)
    severity = Severity.CRITICAL if one.slowdown >= CRITICAL else Severity.WARNING
    texts, numbers = _work(view, one) if one.candidate.cause == "work" else _network(view, one)
    lost = round(one.lost / max(int(one.during.sum()), 1) / 1e6, 3)
    ranks = len(view.job.endpoints)
    return Finding(
        detector=GRAPH,
        kind=_kind(one.candidate),
        job=view.job.id,
        severity=Severity.INFO if sure < CERTAIN else severity,
        subject=one.candidate.subject,
        ids=one.candidate.ids,
        start_ns=start,
        end_ns=end,
        slowdown=round(one.slowdown, 3),
        score=round(min(one.score, 999.0), 2),
        message=f"{texts}; {_cost(view, one)}",
        evidence={
            "steps": view.numbers(one.start, one.stop),
            "verdict": _classes(one, sure),
            "candidates": _compared(one),
            "lost_ms_per_step": lost,
            "gpu_hours_per_hour": round(ranks * (1 - 1 / max(one.slowdown, 1.0)), 2),
            "replay_error": 0.0,
            **numbers,
            **({"incomplete": list(seen.reasons)} if seen.reasons else {}),
        },
        confidence=sure,
        lost_gpu_s=round(one.lost / 1e9 * ranks, 1),
        isolate=_isolation(view, one, sure),
    )


def _kind(one: Candidate) -> FindingKind:
    if one.cause == "work":
        return "slow_rank"
    return "slow_switch" if one.subject == "switch" else "slow_link"


def _cost(view: View, one: Verdict) -> str:
    """How long steps took, and would have taken."""
    if one.always:
        return f"without it steps would take {duration(view.period / one.slowdown)} instead of {duration(view.period)}"
    return steps_take(view, one.start, one.stop, one.slowdown)


def _work(view: View, one: Verdict) -> tuple[str, dict[str, Any]]:
    """How long the ranks named worked before what they were late for, and usually."""
    scene = one.scene
    gone, t = scene.gone, scene.delays.transfers
    own = np.zeros(len(t.lanes))
    own[one.candidate.hears] += gone.receiver[np.ix_(one.candidate.hears, one.during)].sum(axis=1)
    own[one.candidate.sends] += gone.sender[np.ix_(one.candidate.sends, one.during)].sum(axis=1)
    lane = int(np.argmax(own))
    sends = lane in one.candidate.sends
    mine = np.flatnonzero((t.lane == lane) & one.during[t.step])
    late = np.maximum(scene.delays.new[0, mine], 0.0)
    rested = scene.delays.rested[0 if sends else 1, mine]
    known = np.isfinite(rested) & (late > 0)
    steps = max(int(one.during.sum()), 1)
    more, usual = float(late[known].sum()) / steps, float(rested[known].sum()) / steps
    ranks = _ranks(view, one.candidate)
    than = "on comparable ranks" if one.always else "usually"
    whose = "one of the two works" if one.candidate.subject == "link" else "works"
    took = beside(duration(usual + more), duration(usual), (usual + more) / max(usual, 1.0), than=than)
    text = f"{whose} {took} per step before its transfers, while all it waits for had come; the others wait for it"
    return text, {"ranks": ranks, "work_ms": round((usual + more) / 1e6, 3), "usual_work_ms": round(usual / 1e6, 3)}


def _network(view: View, one: Verdict) -> tuple[str, dict[str, Any]]:
    """At which rate the lanes that it slows moved octets, and usually; which lanes these are."""
    scene = one.scene
    t, gone = scene.delays.transfers, scene.gone
    its = np.ix_(one.candidate.lanes, one.during)
    each = gone.within[its].sum(axis=1) / np.maximum(gone.moved[its].sum(axis=1), 1.0)
    slowed = one.candidate.lanes[np.flatnonzero(each >= SLOWED * max(float(each.max(initial=0.0)), 1e-12))]
    inside = np.isin(t.lane, slowed) & one.during[t.step]
    octets, busy = float(t.octets[inside].sum()), float(t.busy[inside].sum())
    now = octets * 8e9 / max(busy, 1.0)
    usual = octets * 8e9 / max(busy - float(scene.delays.slower[inside].sum()), 1.0)
    than = "on comparable connections" if one.always else "usually"
    text = (
        f"the {len(slowed)} connections that use it move octets at {beside(rate(now), rate(usual), now / usual, than=than)}, "
        f"{percent(one.share)} of the new delays are theirs"
    )
    names = view.job.endpoints
    edges = [[names[a], names[b]] for a, b in t.lanes[slowed].tolist()]
    return text, {"edges": edges, "gbit_s": round(now / 1e9, 4), "usual_gbit_s": round(usual / 1e9, 4)}


def _ranks(view: View, one: Candidate) -> list[str]:
    """The ranks that a candidate holds."""
    return [a for a in view.job.endpoints if a in one.ids or view.host(a) in one.ids]


def _classes(one: Verdict, sure: float) -> dict[str, float]:
    """How likely it is the network, a machine, or neither that is seen."""
    share = {"network": 0.0, "machine": 0.0, "job": 0.0}
    share[CLASS[one.candidate.cause]] += one.probability
    for other, probability in one.others:
        share[CLASS[other.cause]] += probability
    whole = max(sum(share.values()), 1e-9)
    known = sure / max(one.probability, 1e-9)
    out = {name: round(value / whole * known, 3) for name, value in share.items()}
    return out | {"unknown": round(max(1 - sum(out.values()), 0.0), 3)}


def _compared(one: Verdict) -> list[dict[str, Any]]:
    """The candidates compared: what each explains of the new delays, and how likely it is."""
    rows = [(one.candidate, one.share, one.probability), *((c, s, p) for (c, p), s in zip(one.others, one.shares, strict=True))]
    return [
        {
            "class": CLASS[c.cause], "type": c.subject, "ids": list(c.ids), "way": c.way,
            "explains": round(max(s, 0.0), 3), "probability": round(p, 3),
        }
        for c, s, p in rows[:TOLD]
    ]  # fmt: skip


def _isolation(view: View, one: Verdict, sure: float) -> Isolation:
    """The hosts of whom it names, or the parts between switches."""
    others = tuple((tuple(dict.fromkeys(map(view.host, c.ids))), round(p, 4)) for c, p in one.others[:TOLD] if p > 0)
    hosts = tuple(dict.fromkeys(map(view.host, one.candidate.ids)))
    ranked = ((hosts, round(one.probability, 4)), *others)
    if one.candidate.cause == "network" and one.candidate.subject in ("link", "switch"):
        return Isolation((), one.candidate.ids, round(sure, 4), ((one.candidate.ids, round(one.probability, 4)), *others))
    return Isolation(hosts, (), round(sure, 4), ranked)
