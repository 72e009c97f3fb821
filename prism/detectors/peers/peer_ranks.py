"""Whose work is like whose: the ranks with which a rank's work is compared, and what of it is theirs."""

from __future__ import annotations

import numpy as np

from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import middle, usual
from prism.loops.arrays.intervals import Ints


def strangers_of(view: View, ranks: Ints, rank: int) -> Ints:
    """Those of some ranks that do not share a host with one: what slows it may slow them too, unseen on the wire."""
    own = view.hosts[rank]
    return np.asarray(ranks[(ranks != rank) & ((own < 0) | (view.hosts[ranks] != own))], dtype=np.int64)


def peers(view: View) -> list[Ints]:
    """Ranks to compare with one another: those who reduce gradients together, else the whole job.

    Members of other groups may have waited, in what looks like work, for what is not on the wire.
    """
    place = {address: i for i, address in enumerate(view.job.endpoints)}
    groups = sorted((g.members for g in view.parallelism.groups if g.kind == "dp" and len(g.members) > 2), key=len)
    own: dict[int, Ints] = {}
    for members in groups:  # the largest group of each rank comes last
        ranks = np.array(sorted(place[m] for m in members), np.int64)
        own |= dict.fromkeys(ranks.tolist(), ranks)
    if len(own) < len(place):
        return [np.arange(len(place))]
    return [np.array(key) for key in sorted({tuple(ranks.tolist()) for ranks in {id(r): r for r in own.values()}.values()})]


def twins_of(view: View) -> list[tuple[Ints, list[Ints] | None]]:
    """Peers of one pipeline stage, for other stages have other work, whatever their health.

    Where they are but two hosts, or endpoints, with the other such pairs, else with None.
    """
    stage = np.array([view.parallelism.stages.get(address, 0) for address in view.job.endpoints])
    found = [ranks[stage[ranks] == one] for ranks in peers(view) for one in np.unique(stage[ranks])]
    pairs = [ranks for ranks in found if len(np.unique(np.where(view.hosts[ranks] < 0, -1 - ranks, view.hosts[ranks]))) == 2]
    alone = {id(ranks) for ranks in pairs}
    return [(ranks, [pair for pair in pairs if pair is not ranks] if id(ranks) in alone else None) for ranks in found]


def against_peers(view: View, level: Floats, *, pause: float = 2.0) -> Floats:
    """Log work less what the rank usually does and what its peers did in that step; NaN stays unknown.

    So is what anybody did where most of his peers and of his stage took `pause` times as long: an evaluation. Of few peers one
    stage may evaluate and another one pass it on; that tells nothing of what the others did.
    """
    out = level - usual(level)
    stage = np.array([view.parallelism.stages.get(address, 0) for address in view.job.endpoints])
    for ranks in peers(view):
        shared = middle(out[ranks], axis=0)
        for own in (ranks[stage[ranks] == one] for one in np.unique(stage[ranks])):
            rests = np.where(middle(out[own], axis=0) <= np.log(pause), 0.0, np.nan)
            out[own] -= np.where(shared <= np.log(pause), shared, rests)
    return out


def ordinary(work: Floats, *, pause: float = 2.0) -> Floats:
    """Work without the steps in which most took `pause` times as long as usual, which evaluate: those are NaN."""
    level = np.log(np.maximum(work, 1.0))
    shared = middle(level - usual(level), axis=0)
    return np.where(shared <= np.log(pause), work, np.nan)
