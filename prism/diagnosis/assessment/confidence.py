"""How sure a finding is: how much of the traffic was seen, how far the evidence stands out, how clear the culprit is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.columns.record import Flows, Ints
from prism.diagnosis.assessment.cost import steps_of
from prism.graph.job_view import View
from prism.loops.arrays.group_sums import numbered
from prism.loops.arrays.intervals import weighted_median
from prism.loops.detection.record_density import weights
from prism.loops.detection.volume_evenness import varied
from prism.model import Finding


class Completeness(NamedTuple):
    """How far records can be trusted to tell all, 0 … 1, and what speaks against it."""

    share: float
    reasons: tuple[str, ...] = ()


def completeness(view: View, *, slack: float = 0.005, dense: float = 0.5, unknown_rate: float = 100) -> Completeness:
    """Whether records are sampled, sums over longer than steps show, or missing, as volumes that should be equal tell.

    Volumes may vary by `slack`: what a retransmission or a step's border moves. A record that is no sum is `dense`: traffic for
    most of its time. Of what rests between, sums do not tell when. Unknown sampling rates weigh as 1 in `unknown_rate`.
    """
    flows, share, reasons = view.flows, 1.0, list[str]()
    unknown = float(np.mean(flows.sampling_rate == 0)) if flows.sampling_rate.min(initial=1) == 0 else 0.0
    known = flows.sampling_rate[flows.sampling_rate > 0] if unknown else flows.sampling_rate
    rate = float(np.median(known)) if known.max(initial=0) > 1 else 1.0
    if rate > 1:
        share /= 1 + np.log10(rate)
        reasons.append(f"traffic is sampled: 1 packet in {rate:.0f}")
    if unknown:
        share /= 1 + unknown * np.log10(unknown_rate)
        reasons.append(f"traffic is sampled: the rate of {unknown:.0%} of the flow records is unknown")
    whole, long, sent, sparse = weights(flows, view.period, dense)
    if 2 * long > whole and view.period > 0:
        length = weighted_median(*_lasted(flows)[:2])
        share *= view.period / length
        reasons.append(f"flow records span {length / view.period:.1f} steps each")
    if 2 * sparse >= sent > 0:
        lasted, octets, busy = _lasted(flows)
        known = np.flatnonzero((busy > 0) & (lasted > 0))
        usual = weighted_median(np.minimum(busy[known] / lasted[known], 1.0), octets[known])
        share *= usual**0.25
        reasons.append(f"flow records are aggregates: they carry traffic during {usual:.0%} of their duration")
    varies = _varies(view)
    if varies > slack:
        share *= float(np.exp(-8 * (varies - slack)))
        reasons.append(f"volumes that should be equal differ by {varies:.1%}: records may be missing")
    return Completeness(float(share), tuple(reasons))


def _lasted(flows: Flows) -> tuple[Ints, Ints, Ints]:
    """How long each record of payload lasted, ns, what it moved, and for how long it did, ns, 0 where that is not known."""
    rows = np.flatnonzero(~flows.control())
    return (flows.end_ns - flows.start_ns).take(rows), flows.octets.take(rows), flows.busy_ns.take(rows)


def _varies(view: View) -> float:
    """Typical spread over steps of the volume of an edge of a reduction or pipeline, as a share.

    Steps' borders may be off, and steps unlike: only what differs both between steps and between edges that should move alike
    (those of a group, the two directions of a pair), each as a share of its own median, is missing. Of few records an edge
    moves what it should in most steps, and less on average; where steps are none, all edges together move now more, now less.
    """
    hands = {s.members: s.rows for s in view.parallelism.streams if s.kind == "pp" and len(s.members) == 2}
    alike = [s.rows for s in view.parallelism.streams if s.kind == "dp"]
    alike += [np.concatenate([rows, hands[b, a]]) for (a, b), rows in hands.items() if a < b and (b, a) in hands]
    if not alike:
        return 0.0
    flows, rows = view.flows, np.concatenate(alike)
    group = np.repeat(np.arange(len(alike)), [len(own) for own in alike])
    number, at = numbered(flows.src.take(rows), group << 32 | flows.dst.take(rows))
    moved = view.by_step(rows, number, len(at), flows.octets)
    by_edge, *others = varied(moved, np.searchsorted(group[at], np.arange(len(alike) + 1)))
    if not len(by_edge):
        return 0.0
    between = 1.4826 * float(np.median(np.abs(by_edge)) * np.sqrt(len(view.ends)))
    return min(max(float(np.median(np.abs(other))) for other in others), between)


def confidence(view: View, finding: Finding, seen: Completeness) -> float:
    """Share of such claims that should be right: each thing that may be wrong takes its part.

    A score of few sigmas and few steps may be chance; an incident that does not fit its culprit, or fits others as well, may
    have another one. Who is always slow, against its peers, is no surer than the layout, which says who they are.
    """
    first, stop = steps_of(view, finding)
    chance = float(np.exp(-max(finding.score, 0.0) / 4))
    if finding.kind not in ("hang", "crash"):
        chance = max(chance, 0.5 ** max(stop - first + 1, 1))
    fit = 1.0
    if {"explains", "exclusive"} <= finding.evidence.keys():
        fit = float(np.sqrt(finding.evidence["explains"] * finding.evidence["exclusive"]))
    sure = seen.share * (1 - chance) * fit * named(view, finding)
    if finding.kind not in ("hang", "crash") and stop - first >= len(view.ends) - 1:
        sure = min(sure, view.parallelism.layout.confidence)
    return round(float(np.clip(sure, 0.0, 1.0)), 3)


def named(view: View, finding: Finding) -> float:
    """Probability of those a finding names, of all who may be it; 1 where nobody else is, or nobody is named."""
    if finding.subject == "job":
        return 1.0
    told = set(finding.ids)
    if view.topology is not None:
        told |= {host for a in finding.ids if (host := view.topology.host(a)) is not None}
    mine = sum(p for ids, p in finding.isolate.alternatives if told & set(ids))
    return mine if finding.isolate.alternatives else 1.0
