"""Decide between two ranks or hosts that explain the same delays, from transfers of only one of them.

Both ends of a late transfer may have been late. The rank that works takes no part in the collective meanwhile. Its partner
does, and so do the ranks of the partner's host: around a ring they forward what still arrives.
"""

from __future__ import annotations

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.candidates import Candidate
from prism.diagnosis.attribution.comparisons import Comparison, Mask
from prism.graph.constants import SOON_OF_TRANSFER
from prism.graph.job_view import View
from prism.loops.arrays.intervals import Ints


def guilty_twin(view: View, comparison: Comparison, one: Candidate, other: Candidate, during: Mask) -> int | None:
    """Return 0 or 1 for the candidate that moves less with others in the steps `during`, None if the records do not show it."""
    if one.cause != "work":
        return None
    t = comparison.delays.transfers
    shared = np.isin(t.lane, np.intersect1d(one.lanes, other.lanes)) & during[t.step]
    if during.sum() == 1:
        lanes = [np.setdiff1d(mine.lanes, partner.lanes) for mine, partner in ((one, other), (other, one))]
    else:
        place = np.array([view.host(address) for address in view.job.endpoints])[t.lanes]
        own = [(place == view.host(who.ids[0])).any(axis=1) for who in (one, other)]
        sent = [place[:, 0] == view.host(who.ids[0]) for who in (one, other)]
        lanes = [np.flatnonzero(mine & (~(own[0] & own[1]) | sends)) for mine, sends in zip(own, sent, strict=True)]
    steps = [np.flatnonzero(shared & (t.step == step)) for step in np.flatnonzero(during)]
    votes = [_more_active(comparison, both, lanes, alone=during.sum() == 1) for both in steps if len(both)]
    mean = float(np.mean(votes)) if votes else 0.0
    return None if abs(mean) < c.ALWAYS else int(mean > 0)


def _more_active(comparison: Comparison, both: Ints, lanes: list[Ints], *, alone: bool) -> float:
    """Compare the octets that begin on two sets of `lanes` during the longest delay of the transfers `both`: −1, 0 or 1.

    Only lanes of the same collective count. The wait begins in the step, with the usual own work before the transfer. 0 if the
    more active lanes move most of all: data that nobody has to await, as in a receiver's buffers, show no work.
    """
    delays, t = comparison.delays, comparison.delays.transfers
    circle = delays.events.dependencies.circle
    last = both[np.argmax(np.nan_to_num(delays.new[0, both]))]
    until, waited = float(delays.at[0, last]), float(np.nan_to_num(delays.new[0, last]))
    since = until - min(waited + float(delays.rested[:, last].min()) / 2, float(t.start[last]))
    inside = (delays.at[0] > since) & (delays.at[0] < until - SOON_OF_TRANSFER * waited)
    inside &= circle[t.lane] == circle[t.lane[last]]
    moved = np.bincount(t.lane[inside], t.octets[inside], len(t.lanes))
    sums = [float(moved[own].sum()) for own in lanes]
    if abs(sums[0] - sums[1]) < t.octets[last] / 2 or (circle[t.lane[last]] < 0 and not alone):
        return 0.0
    more = lanes[int(sums[1] > sums[0])]
    others = np.delete(moved, more).max(initial=0.0) if circle[t.lane[last]] >= 0 and not alone else np.inf
    starved = moved[more].max(initial=0.0) > others - t.octets[last] / 2
    return 0.0 if starved else float(np.sign(sums[0] - sums[1]))
