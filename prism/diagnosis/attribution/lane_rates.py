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
from prism.loops.detection.transfer_delays import Codes, Floats


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


def strained(comparison: Comparison, during: Mask, rise: Floats) -> Mask:
    """Whether each endpoint's NIC, as a whole, moves its octets more slowly than others do; `rise` as in `lost_rate`.

    Transfers that share a NIC are each slower, but together as fast as usual: their union takes no longer. bool[candidates].
    """
    t = comparison.delays.transfers
    usual = np.exp(middle(t.pace[:, during], axis=1)[:, 0] - rise)
    own = np.flatnonzero(during[t.step] & np.isfinite(usual[t.lane]))
    expected, n = (t.octets * usual[t.lane])[own], int(t.lanes.max()) + 1
    slow = []
    for ranks in (t.src[own], t.dst[own]):
        took, least = _union_by(ranks, n, comparison.delays.at[:, own]), np.bincount(ranks, expected, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(np.where(took > 0, took / least, np.nan))
        slow.append(ratio - middle(ratio) >= UNLIKE)
    return np.array([
        one.cause == "network"
        and one.subject == "endpoint"
        and all(slow[side][t.lanes[lanes[0], side]] for side, lanes in enumerate((one.sends, one.receives)) if len(lanes))
        for one in comparison.which
    ])  # fmt: skip


def _union_by(ranks: Codes, n: int, at: Floats) -> Floats:
    """Length of the union of the transfers of each of `n` ranks; `at` is begin and end of each transfer."""
    order = np.lexsort((at[0], ranks))
    first, last = at[:, order] + (float(np.ptp(at)) + 1) * ranks[order] if len(order) else at
    before = np.concatenate([[-np.inf], np.maximum.accumulate(last)])[:-1]
    return np.asarray(np.bincount(ranks[order], np.maximum(last - np.maximum(first, before), 0.0), n), np.float64)


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
