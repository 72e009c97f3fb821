"""Join causes that the records hardly distinguish: the two ends of lanes, a path and the only NIC behind its end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.candidates import Candidate
from prism.diagnosis.attribution.comparisons import Comparison, Mask
from prism.diagnosis.attribution.explained_delay import explained_shares, tables_of
from prism.graph.job_view import View


def pair(
    view: View, comparison: Comparison, one: Candidate, other: Candidate, during: Mask, *, tied: bool
) -> tuple[Candidate, float] | None:
    """Join two candidates that the records hardly distinguish, with the share that it explains.

    None if each of them explains delays that the other does not, or if they are not `tied` and one end delayed nearly all lanes
    between them.
    """
    both = joined(view, one, other)
    if both is None:
        return None
    part = comparison.gone.before if one.cause == "work" else comparison.gone.within
    late = part[:, during].sum(axis=1)
    shared, either = late[np.intersect1d(one.lanes, other.lanes)].sum(), late[both.lanes].sum()
    tied &= bool(shared >= c.MIN_EXPLAINED * either)
    if not tied and (
        during.sum() == 1 or shared < c.ALWAYS * either or _either(comparison, one, other, during) < c.TIED_PROBABILITY
    ):
        return None
    tables = tables_of([both], len(comparison.gone.moved))
    return both, min(float(np.median(explained_shares(tables, comparison.gone)[0, during])), 1.0)


def _either(comparison: Comparison, one: Candidate, other: Candidate, during: Mask) -> float:
    """Probability that the less likely end of the lanes between two candidates delayed them; 0 on the network."""
    if one.cause == "network":
        return 0.0
    parts = [part[:, during].sum(axis=1) for part in (comparison.gone.sender, comparison.gone.receiver)]
    ways = [np.intersect1d(a.sends, b.receives) for a, b in ((one, other), (other, one))]
    mine, others = (sum(float(parts[i ^ k][way].sum()) for i, way in enumerate(ways)) for k in (0, 1))
    return min(mine, others) / max(mine + others, 1.0)


def joined(view: View, one: Candidate, other: Candidate) -> Candidate | None:
    """Join two candidates of one kind to the link between them, if the records cannot distinguish them.

    So are a path and the only NIC behind its end, whose lanes are the same: the path then ends at the NIC.
    """
    if one.cause != other.cause:
        return None
    ids = {*one.ids, *other.ids}
    if one.cause == "network" and one.subject != other.subject and np.array_equal(one.lanes, other.lanes):
        ids -= {view.leaf(address) for address in view.job.endpoints if {address, view.host(address)} & ids and len(ids) > 2}
        return replace(one, subject="link", ids=tuple(sorted(ids)))
    alike = one.subject == other.subject if one.cause == "network" else {one.subject, other.subject} <= {"endpoint", "host"}
    if not alike or one.subject not in ("endpoint", "host", "switch"):
        return None
    sends, receives = np.union1d(one.sends, other.sends), np.union1d(one.receives, other.receives)
    return Candidate(one.cause, "link", tuple(sorted(ids)), sends, receives)


def place(view: View, one: Candidate) -> tuple[str, ...]:
    """Location of a candidate: all parts of one host are one location."""
    return (one.cause, view.host(one.ids[0])) if one.subject in ("endpoint", "host") else (one.subject, *one.ids)
