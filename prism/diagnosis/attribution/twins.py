"""Decide between two ranks or hosts that explain the same delays, from transfers of only one of them.

Both ends of a late transfer may have been late. A slow rank is also late in its transfers with others, in proportion to its
own work before them; its partner is not.
"""

from __future__ import annotations

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.candidates import Candidate
from prism.diagnosis.attribution.comparisons import Comparison, Mask
from prism.graph.constants import SOON_OF_TRANSFER
from prism.graph.job_view import View
from prism.loops.arrays.change_points import spread
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.transfer_delays import Floats


def active_twin(view: View, comparison: Comparison, one: Candidate, other: Candidate, during: Mask) -> int | None:
    """Return 0 or 1 for the candidate that moves less with others while both are late in a transfer; None if unknown.

    The late rank takes no part in the collective yet. Its partner does, and the ranks of the partner's host do: around a ring
    they forward what still arrives. Octets of each host are compared, without those between the two.
    """
    if one.cause != "work" or comparison.always or during.sum() == 1:
        return None
    delays, t = comparison.delays, comparison.delays.transfers
    place = np.array([view.host(address) for address in view.job.endpoints])[t.lanes]
    hosts = [view.host(who.ids[0]) for who in (one, other)]
    own = [(place == host).any(axis=1) for host in hosts]
    own = [mine & ~(own[0] & own[1]) for mine in own]
    shared = np.isin(t.lane, np.intersect1d(one.lanes, other.lanes))
    votes = []
    for step in np.flatnonzero(during).tolist():
        both = np.flatnonzero(shared & (t.step == step))
        if not len(both):
            continue
        late = both[np.argmax(np.nan_to_num(delays.new[0, both]))]
        until, waited = delays.at[0, late], float(np.nan_to_num(delays.new[0, late]))
        since = until - waited - delays.rested[:, late].min() / 2
        circle = delays.events.dependencies.circle
        inside = (delays.at[0] > since) & (delays.at[0] < until - SOON_OF_TRANSFER * waited)
        inside &= circle[t.lane] == circle[t.lane[late]]
        first, second = (float(t.octets[inside & mine[t.lane]].sum()) for mine in own)
        votes.append(0.0 if abs(first - second) < t.octets[late] / 2 else float(np.sign(first - second)))
    mean = float(np.mean(votes)) if votes else 0.0
    return None if abs(mean) < c.OFTEN else int(mean > 0)


def guilty_twin(comparison: Comparison, one: Candidate, other: Candidate, during: Mask) -> int | None:
    """Return 0 or 1 for the candidate whose own work is longer in the steps `during`, None if the records do not show it."""
    if one.cause != "work" or comparison.always:
        return None
    if during.sum() == 1:
        active = [_begins_others(comparison, mine, partner, during) for mine, partner in ((one, other), (other, one))]
        return active.index(False) if active[0] != active[1] else None
    return None


def _begins_others(comparison: Comparison, one: Candidate, other: Candidate, during: Mask) -> bool:
    """Whether a candidate begins transfers with others during the longest delay between it and its twin: then it works."""
    delays, t = comparison.delays, comparison.delays.transfers
    shared = np.flatnonzero(during[t.step] & np.isin(t.lane, np.intersect1d(one.lanes, other.lanes)))
    if not len(shared):
        return False
    new = np.nan_to_num(delays.new[0, shared])
    last, waited = delays.at[0, shared[np.argmax(new)]], float(new.max())
    own = np.isin(t.lane, np.setdiff1d(one.lanes, other.lanes))
    begun = delays.at[0, own]
    return bool(((begun > last - (1 - SOON_OF_TRANSFER) * waited) & (begun < last - SOON_OF_TRANSFER * waited)).any())

