"""Compute how well each network candidate matches the lanes that move octets more slowly than usual, or than their peers.

A slow NIC or link lowers the rate of all lanes that use it, and of no other. Rates are those while octets move, so lanes that
wait for a slow one keep their rate.
"""

from __future__ import annotations

import numpy as np

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.candidates import Candidate
from prism.diagnosis.attribution.comparisons import Comparison, Mask
from prism.graph.constants import UNLIKE
from prism.loops.arrays.change_points import middle, spread
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
    return np.array([_fit(one, slow * moved, known * moved) for one in comparison.which])


def _fit(one: Candidate, slow: Floats, known: Floats) -> float:
    own = one.lanes if one.cause == "network" else one.lanes[:0]
    return 2 * float(slow[own].sum()) / max(float(slow.sum() + known[own].sum()), 1.0)


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
        scatter = spread(rise, floor=UNLIKE / 2)
        out[own] = np.where((rise >= c.CLEAR * scatter) | (rise <= 0), rise, c.SLOW_LANE / 2)
    return out
