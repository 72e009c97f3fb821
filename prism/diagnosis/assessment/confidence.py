"""Compute the confidence of a finding from the completeness of the records, the deviation, and the probability of the cause."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.columns.record import Flows, Ints
from prism.diagnosis import constants as c
from prism.graph import constants as g
from prism.graph.job_view import Floats, View
from prism.loops.arrays.group_sums import numbered
from prism.loops.arrays.intervals import weighted_median
from prism.loops.constants import MAD_TO_SIGMA
from prism.loops.detection.record_density import weights
from prism.loops.detection.volume_evenness import varied
from prism.model import Finding


class Completeness(NamedTuple):
    """Completeness of the records, 0 … 1, and the reasons why it is below 1."""

    share: float
    reasons: tuple[str, ...] = ()


def completeness(
    view: View, *, slack: float = c.SLACK, dense: float = 0.5, unknown_rate: float = c.UNKNOWN_RATE
) -> Completeness:
    """Compute how complete records are: sampling, records that span several steps, aggregates, missing records.

    Parameters
    ----------
    view : View
        The job by step and edge.
    slack : float
        Tolerated difference of volumes that should be equal, as a share: retransmissions and step borders.
    dense : float
        Share of its duration for which a record carries traffic; below it, the record is an aggregate. Aggregates hide when
        traffic rested.
    unknown_rate : float
        Assumed sampling rate (1 packet in this many) of records with unknown rate.

    Returns
    -------
    Completeness
        The product of all parts, with a reason for each part below 1.
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
        share *= usual**c.AGGREGATED
        reasons.append(f"flow records are aggregates: they carry traffic during {usual:.0%} of their duration")
    varies = _varies(view)
    if varies > slack:
        share *= float(np.exp(-c.MISSING * (varies - slack)))
        reasons.append(f"volumes that should be equal differ by {varies:.1%}: records may be missing")
    return Completeness(float(share), tuple(reasons))


def _lasted(flows: Flows) -> tuple[Ints, Ints, Ints]:
    """Duration, ns, octets, and busy time, ns (0 if unknown) of each record of payload."""
    rows = np.flatnonzero(~flows.control())
    return (flows.end_ns - flows.start_ns).take(rows), flows.octets.take(rows), flows.busy_ns.take(rows)


def _varies(view: View) -> float:
    """Typical spread over steps of the volume of an edge of a reduction or pipeline, as a share.

    Step borders may be inexact, and steps may differ. Missing records show only as differences both between steps and between
    edges that should move equal volumes: edges of one group, and both directions of a pair. Each is a share of its own median.
    If few records are missing, an edge moves its usual volume in most steps and less on average. If the steps are wrong, all
    edges vary together. Steps with evaluations do not count.
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
    by_edge, *others = varied(_without_evaluations(moved), np.searchsorted(group[at], np.arange(len(alike) + 1)))
    if not len(by_edge):
        return 0.0
    between = MAD_TO_SIGMA * float(np.median(np.abs(by_edge)) * np.sqrt(len(view.ends)))
    return min(max(float(np.median(np.abs(other))) for other in others), between)


def _without_evaluations(moved: Floats) -> Floats:
    """Leave out some steps in which the same edges move far more than usual. `moved`: float64[edges, steps + 1]."""
    more = moved[:, 1:-1] > g.LONG * np.median(moved[:, 1:-1], axis=1, keepdims=True)
    some = np.flatnonzero(more.any(axis=0))
    same = len(some) > 1 and bool((more[:, some] == more[:, some[:1]]).all())
    return np.delete(moved, some + 1, axis=1) if same else moved


def confidence(view: View, finding: Finding, seen: Completeness) -> float:
    """Compute the expected share of such claims about a stop that are right; each possible error reduces it.

    A low score may be chance, and another rank may be due.
    """
    chance = float(np.exp(-max(finding.score, 0.0) / c.CLEAR))
    return round(float(np.clip(seen.share * (1 - chance) * named(view, finding), 0.0, 1.0)), 3)


def peers_known(view: View) -> float:
    """Probability that a comparison with peers in all steps holds: that of all layouts with as many stages as the reported one.

    Peers have equal volume and stages; the other dimensions do not separate them.
    """
    layout = view.parallelism.layout
    others = (one.layout for one in view.parallelism.alternatives)
    return min(layout.confidence + sum(one.confidence for one in others if one.pp == layout.pp), 1.0)


def named(view: View, finding: Finding) -> float:
    """Probability of the parts that a finding on a stop names; 1 if there are no alternatives."""
    if finding.subject == "job":
        return 1.0
    due = finding.evidence.get("due_first")  # of a hang: several ranks of one host may have been due
    if due:
        return (1 - c.NO_SUSPECT) * min(float(sum(due.get(rank, 0.0) for rank in finding.evidence["ranks"])), 1.0)
    parts = set(finding.ids) | {view.host(address) for address in finding.ids}
    mine = sum(p for ids, p in finding.isolate.alternatives if parts & set(ids))
    return mine if finding.isolate.alternatives else 1.0
