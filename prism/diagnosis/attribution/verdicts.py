"""Write a finding for each verdict: network, machine or unknown; which part; how much; which candidates were compared.

`combine_findings` joins them with the findings on stops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.assessment.confidence import Completeness, peers_known
from prism.diagnosis.assessment.slowdown_findings import Cost, slowdown_finding, without
from prism.diagnosis.attribution.candidates import Candidate, quiet_hosts
from prism.diagnosis.attribution.comparisons import Case, Mask
from prism.diagnosis.attribution.lane_rates import lost_rate
from prism.diagnosis.attribution.slow_steps import Verdict, verdicts
from prism.diagnosis.switch_evidence.switch_losses import likeliest
from prism.diagnosis.switch_evidence.switch_queues import Hop, waiting
from prism.findings.message_values import beside, duration, percent, rate, step_range, steps_take
from prism.graph.job_transfers import Transfers
from prism.graph.job_view import View
from prism.loops.arrays.change_points import middle
from prism.model import Finding, Isolation, Severity, SubjectType

GRAPH = "event_graph"
CLASS = {"work": "machine", "network": "network"}


def combine_findings(case: Case, stops: Sequence[Finding], seen: Completeness) -> list[Finding]:
    """Findings on a job's slow steps, then those on `stops` (hangs and crashes).

    A claim about a stop excludes a stop of the graph that overlaps with it.
    """
    known = [one for one in stops if one.severity is not Severity.INFO]
    slow = [one for one in findings(case, seen) if one.kind != "hang" or not any(_overlaps(one, stop) for stop in known)]
    return [*slow, *stops]


def _overlaps(one: Finding, other: Finding) -> bool:
    """Whether two findings overlap in time."""
    return one.start_ns <= other.end_ns and other.start_ns <= one.end_ns


def findings(case: Case, seen: Completeness) -> list[Finding]:
    """Write the findings on a job's slow steps, one per verdict, the clearest first; `seen`: completeness of its records."""
    return [_finding(case.view, one, seen) for one in verdicts(case)]


def _finding(view: View, one: Verdict, seen: Completeness) -> Finding:
    chance = 1 / len(view.ends) if one.stall else 0.5 ** (one.stop - one.start + 1)
    work, likely = one.candidate.cause == "work", one.probability
    texts, numbers = _stall(view, one) if one.stall else _work(view, one) if work else _network(view, one)
    subject, ids, queued = (*_unseen(view, one), {}) if work else _queued(view, one)
    if queued:
        hop = max(queued, key=lambda h: queued[h])
        texts += f"; {waiting(queued, hop)}"
        numbers["queues_ms"] = {f"{a} > {b}": round(delay / 1e6, 3) for (a, b), delay in queued.items()}
    missed = _missed(one)
    rough = 1 - c.DOUBT if missed is not None and missed > c.MIN_LOSS else 1.0
    sure = round(float(np.clip(seen.share * (1 - chance) * likely * rough, 0.0, 1.0)), 3)
    sure = round(min(sure, peers_known(view)), 3) if one.always and (work or not _apart(one)) else sure
    halved = not work and c.HALF_SPEED * numbers["gbit_s"] <= numbers["usual_gbit_s"]
    weak = one.slowdown < 1 + c.WORTH and ((one.always and not halved) or one.rate_fit < c.ALWAYS)
    broken = halved and one.rate_fit >= c.ALWAYS
    weak |= one.slowdown < 1 + 2 * c.WORTH and sure < 1 - c.DOUBT and not broken  # what costs little must be sure
    weak |= one.stall and one.lost < c.LONGER * view.period  # one long piece of work
    if work and not one.stall:  # who does not work longer than usual is not slow
        weak |= numbers["work_ms"] < (1 + c.WORTH) * numbers["usual_work_ms"]
    return slowdown_finding(
        view,
        seen,
        Cost((one.start, one.stop), one.lost, max(int(one.during.sum()), 1), one.slowdown),
        sure,
        classes(one, sure / max(likely, 1e-9)),
        {
            "candidates": compared(one),
            "observed_slowdown": round(view.slowdown(one.start, one.stop), 3),
            "counterfactual_error": missed,
            **numbers,
        },
        claim=not weak,
        detector=GRAPH,
        kind="hang" if one.stall else "slow_rank" if work else "slow_switch" if subject == "switch" else "slow_link",
        subject=subject,
        ids=ids,
        score=one.score,
        message=f"{texts}; {_cost(view, one)}",
        isolate=_isolation(view, one, ids, sure),
    )


def _apart(one: Verdict) -> bool:
    """Whether the slow lanes are slower than all others, of whatever kind: then they are in every layout."""
    t, slow = one.comparison.delays.transfers, one.comparison.slowed(one.candidate, one.during)
    pace = middle(t.pace[:, one.during], axis=1)[:, 0]
    return len(slow) > 0 and bool(np.nanmin(pace[slow]) - np.nanmax(np.delete(pace, slow), initial=-np.inf) >= c.SLOW_LANE)


def _unseen(view: View, one: Verdict) -> tuple[SubjectType, tuple[str, ...]]:
    """Subject of a verdict on own work: ranks that may wait for others inside their host, invisibly, become the host.

    These are also the ranks of quiet hosts.
    """
    who = one.candidate
    among = {member for members in view.parallelism.unseen for member in members}
    silent = quiet_hosts(view, one.comparison.delays.transfers)
    ids = tuple(view.host(name) if name in among or view.host(name) in silent else name for name in who.ids)
    return "host" if who.subject == "endpoint" and ids != who.ids else who.subject, ids


def _queued(view: View, one: Verdict) -> tuple[SubjectType, tuple[str, ...], Mapping[Hop, float]]:
    """Subject of a verdict on the network: the link or switch where packets queue, if one is between switches.

    Also the hops with queues and the delay at each, ns.
    """
    who = one.candidate
    if who.subject == "link" and set(who.ids) <= set(view.job.endpoints):  # one of two NICs
        lossiest = likeliest(view, [(name,) for name in who.ids], *view.during(one.start, one.stop))
        return (who.subject, who.ids, {}) if lossiest is None else ("endpoint", (who.ids[lossiest],), {})
    if who.subject not in ("link", "switch"):
        return who.subject, who.ids, {}
    queued = one.queued
    shared = set.intersection(*map(set, queued)) if queued else set()
    if not shared:
        return who.subject, who.ids, {}
    if len(shared) == 2:
        return "link", tuple(sorted(shared)), queued
    return "switch", tuple(shared), queued


def _missed(one: Verdict) -> float | None:
    """Median distance of slow steps, replayed without new delays, from usual steps, as a share of these; None against peers."""
    if one.always:
        return None
    delays = one.comparison.delays
    left = delays.more[one.during] - one.comparison.saved_by_all(one.during)
    return round(float(np.median(np.abs(left))) / max(delays.took, 1.0), 3)


def _cost(view: View, one: Verdict) -> str:
    """Text: how long the steps took, and would have taken without the cause."""
    return without(view, one.slowdown) if one.always else steps_take(view, one.start, one.stop, one.slowdown)


def _work(view: View, one: Verdict) -> tuple[str, dict[str, Any]]:
    """Text and numbers: own work of the named ranks before their late transfers, and the usual value."""
    comparison = one.comparison
    gone, t = comparison.gone, comparison.delays.transfers
    own = np.zeros(len(t.lanes))
    own[one.candidate.receives] += gone.receiver[np.ix_(one.candidate.receives, one.during)].sum(axis=1)
    own[one.candidate.sends] += gone.sender[np.ix_(one.candidate.sends, one.during)].sum(axis=1)
    lane = int(np.argmax(own))
    sends = lane in one.candidate.sends
    mine = np.flatnonzero((t.lane == lane) & one.during[t.step])
    late = np.maximum(comparison.delays.new[0, mine], 0.0)
    rested = comparison.delays.rested[0 if sends else 1, mine]
    known = np.isfinite(rested) & (late > 0)
    steps = max(int(one.during.sum()), 1)
    more, usual = float(late[known].sum()) / steps, float(rested[known].sum()) / steps
    ranks = _ranks(view, one.candidate)
    than = "on comparable ranks" if one.always else "usually"
    whose = " of one of the two" if one.candidate.subject == "link" else ""
    took = beside(f"{duration(usual + more)} per step", duration(usual), (usual + more) / max(usual, 1.0), than=than)
    text = f"own work{whose} before its transfers takes {took}, though what it needs has come; the others wait for it"
    return text, {"ranks": ranks, "work_ms": round((usual + more) / 1e6, 3), "usual_work_ms": round(usual / 1e6, 3)}


def _stall(view: View, one: Verdict) -> tuple[str, dict[str, Any]]:
    """Text and numbers: how long the named ranks kept the others waiting in one step."""
    ranks = _ranks(view, one.candidate)
    where = step_range(view, one.start, one.stop)
    who = "one of the two " if one.candidate.subject == "link" else ""
    text = f"{who}keeps the job waiting for {duration(one.lost)} in {where}, though what it needs has come"
    return text, {
        "step": view.numbers(one.start, one.start)[0],
        "ranks": ranks,
        "silent_ms": round(one.lost / 1e6, 3),
        "waiting": len(view.job.endpoints) - len(ranks),
    }


def _network(view: View, one: Verdict) -> tuple[str, dict[str, Any]]:
    """Text and numbers: rate of the slowed lanes, the usual rate, and which lanes these are."""
    comparison = one.comparison
    t = comparison.delays.transfers
    slowed, lost = comparison.slowed(one.candidate, one.during), lost_rate(comparison, one.during)
    slowed = slowed if len(slowed) else one.candidate.lanes
    inside = np.isin(t.lane, slowed) & one.during[t.step]
    octets, busy = float(t.octets[inside].sum()), float(t.busy[inside].sum())
    now = octets * 8e9 / max(busy, 1.0)
    usual = octets * 8e9 / max(busy - float(comparison.delays.slower[inside].sum()), 1.0)
    by_rate = float(np.nan_to_num(np.exp(middle(lost[slowed]))))
    usual = usual if usual > now else now * by_rate
    than = "on comparable connections" if one.always else "usually"
    text = (
        f"the {len(slowed)} connections that use it move octets at {beside(rate(now), rate(usual), now / usual, than=than)}, "
        f"{percent(one.share)} of the new delays are theirs"
    )
    again, usually = _sent_again(view, t, inside)
    if again >= c.CLEAR * usually:
        text += f"; {beside(f'{percent(again)} of their packets', percent(usually), again / usually)} are sent again"
    names = view.job.endpoints
    edges = [[names[a], names[b]] for a, b in t.lanes[slowed].tolist()]
    return text, {
        "edges": edges, "gbit_s": round(now / 1e9, 4), "usual_gbit_s": round(usual / 1e9, 4),
        "retransmit_share": round(again, 6), "factor": round(by_rate, 3),
    }  # fmt: skip


def _sent_again(view: View, t: Transfers, inside: Mask) -> tuple[float, float]:
    """Share of retransmitted packets in some transfers, and in all others; the latter at least one packet."""
    flows = view.flows
    again, packets = flows.retransmits[t.rows], flows.packets[t.rows]
    share, usual = (float(again[own].sum()) / max(float(packets[own].sum()), 1.0) for own in (inside, ~inside))
    return share, max(usual, 1.0 / max(float(packets.sum()), 1.0))


def _ranks(view: View, one: Candidate) -> list[str]:
    """Ranks that a candidate contains."""
    return [a for a in view.job.endpoints if a in one.ids or view.host(a) in one.ids]


def classes(one: Verdict, known: float) -> dict[str, float]:
    """Probability of network, machine, and unknown; `known` is the share of evidence that the records contain, 0 … 1."""
    share = {"network": 0.0, "machine": 0.0, "job": 0.0}
    share[CLASS[one.candidate.cause]] += one.probability
    for other, probability in one.others:
        share[CLASS[other.cause]] += probability
    whole = max(sum(share.values()), 1e-9)
    out = {name: round(value / whole * known, 3) for name, value in share.items()}
    return out | {"unknown": round(max(1 - sum(out.values()), 0.0), 3)}


def compared(one: Verdict) -> list[dict[str, Any]]:
    """The compared candidates: share of new delays that each explains, and its probability."""
    rows = [
        (one.candidate, one.share, one.probability),
        *((other, s, p) for (other, p), s in zip(one.others, one.shares, strict=True)),
    ]
    return [
        {
            "class": CLASS[other.cause], "type": other.subject, "ids": list(other.ids), "way": other.way,
            "explains": round(max(s, 0.0), 3), "probability": round(p, 3),
        }
        for other, s, p in rows
    ]  # fmt: skip


def _isolation(view: View, one: Verdict, ids: tuple[str, ...], sure: float) -> Isolation:
    """Hosts of the named parts; for parts between switches these parts."""
    by_place: dict[tuple[str, ...], float] = {}
    for other, p in ((one.candidate, one.probability), *one.others):
        place = tuple(dict.fromkeys(map(view.host, other.ids)))
        by_place[place] = by_place.get(place, 0.0) + p
    hosts, *more = by_place
    others = tuple((place, round(by_place[place], 4)) for place in more if by_place[place] >= c.RARE)
    ranked = ((hosts, round(by_place[hosts], 4)), *others)
    if one.candidate.cause == "network" and one.candidate.subject in ("link", "switch"):
        return Isolation((), ids, round(sure, 4), ((ids, round(one.probability, 4)), *others))
    return Isolation(hosts, (), round(sure, 4), ranked)
