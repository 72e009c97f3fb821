"""How sure a finding is: how much of the traffic was seen, how far the evidence stands out, how clear the culprit is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from prism.cost import steps_of
from prism.detectors.view import View
from prism.kernels.intervals import weighted_median
from prism.kernels.shifts import spread
from prism.model import Finding


class Completeness(NamedTuple):
    """How far records can be trusted to tell all, 0 … 1, and what speaks against it."""

    share: float
    reasons: tuple[str, ...] = ()


def completeness(view: View, *, slack: float = 0.005) -> Completeness:
    """Whether records are sampled, sums over longer than steps show, or missing, as volumes that should be equal tell.

    Volumes may vary by `slack`: what a retransmission or a step's border moves.
    """
    flows, share, reasons = view.flows, 1.0, list[str]()
    rate = float(np.median(flows.sampling_rate)) if len(flows) else 1.0
    if rate > 1:
        share /= 1 + np.log10(rate)
        reasons.append(f"one packet in {rate:.0f} was seen")
    busy = np.flatnonzero(~flows.control())
    if len(busy) and view.period > 0:
        length = weighted_median(flows.end_ns[busy] - flows.start_ns[busy], flows.octets[busy])
        if 2 * length > view.period:
            share *= view.period / (2 * length)
            reasons.append(f"records last {length / view.period:.1f} steps")
    varies = _varies(view)
    if varies > slack:
        share *= float(np.exp(-8 * (varies - slack)))
        reasons.append(f"volumes that should be equal vary by {varies:.1%}")
    return Completeness(float(share), tuple(reasons))


def _varies(view: View) -> float:
    """Typical spread over steps of the volume of an edge of a pipeline or a reduction, as a share."""
    kind = {(view.code[p.src], view.code[p.dst]): p.kind for p in view.parallelism.pairs}
    own = []
    for key, edge in view.edges.items():
        if kind.get(key) in ("dp", "pp"):
            moved = view.per_step(edge, view.flows.octets)[1:]
            if len(moved) > 2 and np.median(moved) > 0:
                own.append(float(np.std(np.clip(moved / np.median(moved), 0.5, 1.5))) if len(moved) < 6 else _robust(moved))
    return float(np.median(own)) if own else 0.0


def _robust(moved: np.ndarray) -> float:
    return spread(moved / np.median(moved), floor=0.0)


def confidence(view: View, finding: Finding, seen: Completeness) -> float:
    """Share of such claims that should be right: each thing that may be wrong takes its part.

    A score of few sigmas and few steps may be chance; an incident that does not fit its culprit, or fits others as well, may
    have another one.
    """
    first, stop = steps_of(view, finding)
    chance = float(np.exp(-max(finding.score, 0.0) / 4))
    if finding.kind not in ("hang", "crash"):
        chance = max(chance, 0.5 ** max(stop - first + 1, 1))
    fit = 1.0
    if {"explains", "exclusive"} <= finding.evidence.keys():
        fit = float(np.sqrt(finding.evidence["explains"] * finding.evidence["exclusive"]))
    return round(float(np.clip(seen.share * (1 - chance) * fit * named(view, finding), 0.0, 1.0)), 3)


def named(view: View, finding: Finding) -> float:
    """Probability of those a finding names, of all who may be it; 1 where nobody else is."""
    told = set(finding.ids)
    if view.topology is not None:
        told |= {host for a in finding.ids if (host := view.topology.host(a)) is not None}
    mine = sum(p for ids, p in finding.isolate.alternatives if told & set(ids))
    return mine if finding.isolate.alternatives else 1.0
