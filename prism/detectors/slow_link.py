"""Detect a NIC, link or uplink that moves octets more slowly, or loses packets.

A slow link slows a whole ring to the same mean rate. Only the edge that crosses it sends continuously at a low rate; healthy
edges send bursts at full rate. So rates are computed within bursts. The cause is the part that the slow edges share. Between
switches the delay of single packets shows which hop queues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import gammainc

from prism.detectors import constants as c
from prism.detectors.observations.edge_anomalies import (
    Incident,
    against_usual,
    always_slow_edges,
    erratic,
    head_of_chain,
    in_short_steps,
    incidents,
    without_fed_edges,
)
from prism.detectors.observations.nic_sharing import as_fast_in_sum, shared
from prism.detectors.observations.switch_losses import likeliest
from prism.detectors.switch_queues import queues, waiting
from prism.findings.message_values import beside, percent, rate
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import middle, usual
from prism.loops.arrays.edges import Pair
from prism.loops.arrays.intervals import weighted_median
from prism.loops.constants import RARE
from prism.loops.detection.suspect_edges import Suspect, Verdict, seen_to_queue, verdicts
from prism.model import Finding, Severity, SubjectType


def slow_link(view: View, *, factor: float = c.SLOWER_LINK, sigmas: float = c.SIGMAS) -> list[Finding]:
    """Detect NICs, links and switches whose edges sent `factor` times more slowly than usual, or than similar edges.

    If two steps suffice, the second may be the current one: steps may take long, and a part of a step shows rates.
    """
    keys, rates = view.rates
    if len(keys) < 2 or rates.shape[1] < c.EPISODE:
        return []
    level = -np.log(rates)
    moved, steps = against_usual(level), level.shape[1]
    if view.least <= c.EARLY_STEPS:
        moved = np.column_stack([moved, -np.log(view.rates_now()) - usual(level)[:, 0]])
    lately = incidents(keys, moved, np.log(factor), sigmas, least=view.least, over=steps)
    lately = [one._replace(stop=min(one.stop, steps)) for one in lately if one.start < steps]
    slower, rows = float(np.sqrt(factor)), {key: row[:steps] for key, row in zip(keys, moved, strict=True)}
    lately = [one for one in lately if not erratic(one, rows)]
    lately = [one for one in lately if not in_short_steps(view, one, rows, longer=slower)]
    lately = [one for one in lately if not shared(view, one.bad, one.start, one.stop, slower=slower)]
    found = [_finding_of(view, without_fed_edges(one, rows, np.log(factor)), "slow") for one in lately]
    if not any(finding is not None and finding.severity is not Severity.INFO for finding in found):
        always = always_slow_edges(view, keys, level, np.log(factor))
        always = [one for one in always if len(one.bad) > 1 and not as_fast_in_sum(view, one.bad, one.good, slower=slower)]
        found += [_finding_of(view, one, "slow") for one in always]
    return joined([finding for finding in found if finding is not None])


def joined(findings: list[Finding]) -> list[Finding]:
    """Merge findings with the same subject and overlapping times into the strongest, over the time of all."""
    out: list[Finding] = []
    for finding in sorted(findings, key=lambda f: -f.score):
        for i, known in enumerate(out):
            same = (known.kind, known.ids) == (finding.kind, finding.ids)
            if same and finding.start_ns <= known.end_ns and known.start_ns <= finding.end_ns:
                start, end = min(known.start_ns, finding.start_ns), max(known.end_ns, finding.end_ns)
                out[i] = replace(known, start_ns=start, end_ns=end)
                break
        else:
            out.append(finding)
    return out


def lossy_link(view: View, *, factor: float = c.LOSSIER, sigmas: float = c.SIGMAS, least: int = c.LEAST_LOST) -> list[Finding]:
    """Detect NICs and links whose packets are retransmitted `factor` times more often than on similar edges, `least` times or
    more.

    Healthy jobs retransmit packets as well, for example in incasts; so edges are compared with similar ones, and with chance.
    """
    keys = list(view.edges)
    if len(keys) < c.LEAST_RANKS or len(view.ends) < c.EPISODE or not view.flows.retransmits.any():
        return []
    again, packets = view.by_edge(view.flows.retransmits, view.flows.packets)
    excess, foreseen = np.full(again.shape, np.nan), np.zeros(again.shape)
    for like in _alike(view, keys):
        share = again[like].sum(axis=1) / np.maximum(packets[like].sum(axis=1), 1.0)
        expected = max(float(np.median(share)), float(again.sum() / max(packets.sum(), 1.0)) / len(keys)) * packets[like]
        excess[like] = np.where(packets[like] > 0, np.log((again[like] + 1) / (expected + 1)), np.nan)
        foreseen[like] = expected
    out, place = [], {key: i for i, key in enumerate(keys)}
    for one in incidents(keys, excess, np.log(factor) / 2, sigmas, floor=c.LOSS_NOISE, least=view.least):
        bad = [place[key] for key in one.bad]
        lost, chance = (float(sums[bad, one.start : one.stop].sum()) for sums in (again, foreseen))
        bunch = _bunch(np.delete(again, bad, 0), np.delete(foreseen, bad, 0))
        alike = (
            float(gammainc(lost / bunch, chance / bunch)) * again.size * again.shape[1] / 2
        )  # expected number of such spans (Poisson)
        finding = _finding_of(view, one, "lossy") if lost >= max(least, factor * chance) and alike <= RARE else None
        out += [finding] if finding is not None else []
    return joined(out)


def _bunch(again: Floats, foreseen: Floats) -> float:
    """Number of packets that most edges lose together: spread of counts relative to a Poisson distribution, at least 1."""
    wide = np.sum((again - foreseen) ** 2, axis=1) / np.maximum(foreseen.sum(axis=1), 1.0)
    return max(float(np.median(wide)), 1.0)


def _alike(view: View, keys: list[Pair]) -> list[list[int]]:
    """Places of edges with the same kind of traffic; kinds with fewer than four edges form one set."""
    by_kind: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        by_kind.setdefault(view.kinds.get(key, "unknown"), []).append(i)
    few = [i for own in by_kind.values() if len(own) < c.LEAST_ALIKE for i in own]
    return [own for own in by_kind.values() if len(own) >= c.LEAST_ALIKE] + ([few] if few else [])


def _finding_of(view: View, one: Incident, how: str) -> Finding | None:
    """Write the finding on the part that an incident's bad edges share, or the worst of them if that explains more; None if
    none does.

    A sender that waits for data over a slow link may send more slowly as well, in common with another edge. If bad edges share
    nothing and steps are longer, the edge that feeds the others is the cause: in a ring all after it are slow.
    """
    queued = queues(view, one.start, one.stop)
    good = _as_long(view, one) if how == "slow" else one.good
    ways = [one] + ([one._replace(bad=one.worst)] if len(one.worst) < len(one.bad) else [])
    known = [(ranked, way) for way in ways if (ranked := _ranked(view, way, good, queued))]
    if (
        not known
        and view.slowdown(one.start, one.stop) >= c.LONGER_BARELY
        and (first := head_of_chain(view, one)).bad != one.bad
    ):
        known = [(ranked, first) for ranked in [_ranked(view, first, good, queued)] if ranked]
    if not known:
        return None
    ranked, one = max(known, key=lambda k: k[0][0].fit)
    top = [v for v in ranked if v.fit >= ranked[0].fit - c.EQUAL_FIT]
    best = max(top, key=lambda v: (_queue_of(v.suspect, queued), v.fit, v.suspect.kind == "endpoint"))
    same = [v for v in top if v.suspect.kind == best.suspect.kind and v.fit == best.fit]
    if len(same) > 1 and _queue_of(best.suspect, queued) == 0.0:
        lossiest = likeliest(view, [_names(view, v) for v in same], *view.during(one.start, one.stop))
        best, same = (best, same) if lossiest is None else (same[lossiest], [same[lossiest]])
    subject, ids, unsure = _subject(view, best, same, queued)
    return _finding(view, one, how, subject, ids, unsure, best, queued)


def _ranked(view: View, one: Incident, good: Sequence[Pair], queued: Mapping[tuple[str, str], float]) -> list[Verdict]:
    """Parts that explain most of an incident's bad edges, but not the `good` ones, the best first."""
    if 2 * len(one.good) < len(one.bad):
        return []  # if nearly all are bad, the cause cannot be located
    every = [seen_to_queue(v, queued) for v in verdicts(one.bad, good, view.paths)]
    return sorted((v for v in every if v.coverage >= c.EXPLAINS and v.precision >= c.EXCLUSIVE), key=lambda v: -v.fit)


def _as_long(view: View, one: Incident, *, share: float = c.AS_LONG) -> list[Pair]:
    """Good edges of an incident whose bursts move at least a `share` of those of bad edges.

    Shapers and buffers pass short bursts at full rate: these do not show that long ones are fast.
    """
    burst = {key: weighted_median(own := view.edges[key].bursts(), own) for key in [*one.bad, *one.good]}
    least = share * min((burst[key] for key in one.bad), default=0.0)
    return [key for key in one.good if burst[key] >= least]


def _lost(view: View, one: Incident) -> float:
    """Excess time for which the slowest edge of an incident sends in each of its steps, ns."""
    rate = dict(zip(*view.rates, strict=True))
    sending = view.per_steps(one.bad, view.flows.octets) * 8e9 / np.stack([rate[key] for key in one.bad])
    inside, outside = sending[:, one.start : one.stop], np.delete(sending, np.s_[one.start : one.stop], axis=1)
    return float(np.nan_to_num(middle(inside, axis=1) - middle(outside, axis=1)).max(initial=0.0))


def _throughput(view: View, one: Incident, times: float) -> str:
    """Text: median rate of bursts on the bad edges of an incident, and the usual one, or that of similar edges."""
    rates = dict(zip(*view.rates, strict=True))
    every = np.concatenate([rates[key][one.start : one.stop] for key in one.bad])
    if not np.isfinite(every).any():
        return f"send bursts at {1 / times:.2f}× the usual rate"
    now = float(np.nanmedian(every))
    than = "usually" if one.stop - one.start < len(view.ends) else "on comparable connections"
    return f"send bursts at {beside(rate(now), rate(now * times), 1 / times, than=than)}"


def _sent_again(view: View, one: Incident, times: float) -> str:
    """Text: share of packets that the bad edges of an incident retransmitted, and that of similar edges."""
    place = {key: i for i, key in enumerate(view.edges)}
    bad = [place[key] for key in one.bad]
    every = view.by_edge(view.flows.retransmits, view.flows.packets)
    sums = [own[bad, one.start : one.stop].sum() for own in every]
    share = float(sums[0] / max(sums[1], 1.0))
    return f"retransmit {beside(f'{percent(share)} of their packets', percent(share / times), times)}"


def _names(view: View, verdict: Verdict) -> tuple[str, ...]:
    return tuple(view.flows.endpoints[w] if isinstance(w, int) else w for w in verdict.suspect.what)


def _subject(
    view: View, best: Verdict, same: list[Verdict], queued: Mapping[tuple[str, str], float]
) -> tuple[SubjectType, tuple[str, ...], bool]:
    """The part to name; if two endpoints explain the incident equally well, the edge between them."""
    names = {v.suspect: _names(view, v) for v in same}
    if best.suspect.kind == "endpoint" and len(same) == 2:
        return "link", tuple(sorted(name for own in names.values() for name in own)), False
    unsure = len(same) > 1 and _queue_of(best.suspect, queued) == 0.0
    return best.suspect.kind, names[best.suspect], unsure


def _queue_of(suspect: Suspect, queued: Mapping[tuple[str, str], float]) -> float:
    """Longest delay on a suspect link's hops, or on hops that all contain a suspect switch, ns; 0 if there is none."""
    if suspect.kind == "link":
        return max((delay for hop, delay in queued.items() if set(hop) == set(suspect.what)), default=0.0)
    if suspect.kind == "switch" and all(suspect.what[0] in hop for hop in queued):
        return max(queued.values(), default=0.0)
    return 0.0


def _finding(
    view: View,
    one: Incident,
    how: str,
    subject: SubjectType,
    ids: tuple[str, ...],
    unsure: bool,
    best: Verdict,
    queued: Mapping[tuple[str, str], float],
) -> Finding:
    start, end = view.during(one.start, one.stop)
    times = float(np.exp(one.height))
    hop = max(queued, key=lambda h: queued[h], default=None)
    delay = f"; {waiting(queued, hop)}" if hop is not None and subject == "link" else ""
    those = f"{len(one.bad)} of {len(one.bad) + len(one.good)} busy connections, those that use it,"
    what = _throughput(view, one, times) if how == "slow" else _sent_again(view, one, times)
    slowdown = view.slowdown(one.start, one.stop)
    calm = slowdown < c.LONGER_BARELY and (times < 2 if how == "slow" else one.stop - one.start <= view.least)
    return Finding(
        detector="slow_link" if how == "slow" else "lossy_link",
        kind="slow_switch" if subject == "switch" else "slow_link",
        job=view.job.id,
        severity=Severity.INFO if unsure or calm else Severity.CRITICAL if slowdown >= c.CRITICAL else Severity.WARNING,
        subject=subject,
        ids=ids,
        start_ns=start,
        end_ns=end,
        slowdown=round(slowdown, 3),
        score=round(min(one.score, c.MOST_SCORE), 2),
        message=f"{those} {what}; the other connections are unchanged{delay}",
        evidence={
            "steps": view.numbers(one.start, one.stop),
            "edges": [[view.flows.endpoints[a], view.flows.endpoints[b]] for a, b in one.bad],
            "factor": round(times, 3),
            "lost_ms_per_step": round(_lost(view, one) / 1e6, 3),
            "explains": round(best.coverage, 3),
            "exclusive": round(best.precision, 3),
            "queues_ms": {f"{a} > {b}": round(delay / 1e6, 3) for (a, b), delay in queued.items()},
        },
    )
