"""Compute how well each network candidate matches the lanes that move octets more slowly than usual, or than their peers.

A slow NIC or link lowers the rate of all lanes that use it, and of no other. Rates are those while octets move, so lanes that
wait for a slow one keep their rate.
"""

from __future__ import annotations

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.comparisons import Comparison, Mask
from prism.graph import constants as g
from prism.graph.job_transfers import largest
from prism.graph.job_view import View
from prism.loops.arrays.change_points import middle, spread
from prism.loops.arrays.intervals import Ints, union
from prism.loops.detection.transfer_delays import Floats


def rate_fit(comparison: Comparison, during: Mask) -> Floats:
    """Harmonic mean of two shares for each candidate: of the octets of slow lanes that use it, and of its octets on slow lanes.

    0 for candidates of own work, and if no lane is slow. Lanes that are neither slow nor as fast as usual do not count; nor do
    those with few octets show how slow the slow ones are, because their time is that of waits.
    float64[candidates].
    """
    rise, moved = lost_rate(comparison, during), comparison.delays.transfers.moved.sum(axis=1)
    most = float(np.nanmax(rise[moved >= moved.mean()], initial=0.0))
    slow, fast = rise >= max(c.SLOW_LANE, most / 2), rise < c.SLOW_LANE / 2
    known = slow | fast
    if not slow.any() or slow.sum() > fast.sum():
        return np.zeros(len(comparison.which))
    lanes, network = comparison.tables.lanes, comparison.tables.network[:, 0]
    of_slow, of_known = (lanes @ (some * moved) * network for some in (slow, known))
    return np.asarray(2 * of_slow / np.maximum(float((slow * moved).sum()) + of_known, 1.0), np.float64)


def lost_rate(comparison: Comparison, during: Mask) -> Floats:
    """Natural logarithm of the usual rate of each lane over its rate in some steps; NaN if unknown.

    Usual is the rate in the steps that define what is usual; against peers, that of most lanes of the same kind of traffic.
    """
    t = comparison.delays.transfers
    pace = t.pace
    now = middle(pace[:, during], axis=1)[:, 0]
    if not comparison.always:
        lasting = np.sort(pace[:, during], axis=1)  # in nearly all of the steps; NaN last
        now = lasting[:, int((1 - c.ALWAYS) * lasting.shape[1])]
        return np.asarray(now - middle(pace[:, comparison.delays.model], axis=1)[:, 0], np.float64)
    out = np.full(len(now), np.nan)
    for kind in np.unique(t.kinds):
        own = np.flatnonzero(t.kinds == kind)
        rise = now[own] - np.float64(middle(now[own]))
        scatter = spread(rise, floor=g.UNLIKE / 2)
        out[own] = np.where((rise >= c.CLEAR * scatter) | (rise <= 0), rise, c.SLOW_LANE / 2)
    return out


def shares_its_rate(comparison: Comparison, top: int, during: Mask) -> bool:
    """Whether a part of the network moves as much at once as others of its kind: its lanes are slower only because more of them
    are busy together, such as those of the root of a broadcast.
    """
    t, best = comparison.delays.transfers, comparison.which[top]

    def rate(lanes: Ints) -> float:
        own = np.flatnonzero(np.isin(t.lane, lanes) & during[t.step])
        if not len(own):
            return float("nan")
        begin, end = union(*(column[own].astype(np.int64) for column in comparison.delays.at))
        return float(t.octets[own].sum()) / max(int((end - begin).sum()), 1)

    others = [rate(comparison.which[k].lanes) for k in comparison.alike[best.cause, best.subject, best.way] if k != top]
    usual = np.nanmedian(others) if np.isfinite(others).any() else np.inf
    return bool(rate(best.lanes) >= usual * np.exp(-c.SLOW_LANE))


def may_be_slower(view: View, comparison: Comparison, during: Mask) -> bool:
    """Whether a part may be slow against its peers: lanes are, or new delays of a rank's latest lane in each step cost enough.

    Much faster than what each candidate explains. Where ranks of a host wait for each other invisibly, it is the host's lane.
    """
    delays, t = comparison.delays, comparison.delays.transfers
    if np.count_nonzero(lost_rate(comparison, during) >= c.SLOW_LANE) > 1:
        return True
    slowest = t.by_step(delays.slower)[:, during].max(axis=0)
    if np.median(slowest) >= c.ALWAYS * c.SAVED * 2 * c.WORTH * delays.took:
        return True
    place, whole = view.hosts[t.lanes] if view.parallelism.unseen else t.lanes, float(np.nansum(view.durations[during]))
    for part in ("late", "new"):  # a new delay is part of a delay: where these cost too little, it is not computed
        late = t.by_step(np.fmax(getattr(delays, part)[0], 0.0))[:, during]
        longest = np.maximum(*(largest(late, side, int(place.max()) + 2) for side in place.T))  # the last row: unknown hosts
        if whole < (1 + 2 * c.WORTH) * max(whole - float(longest.sum(axis=1).max()), 1.0):
            return False
    return True
