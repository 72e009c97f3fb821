"""Select the ranks with which a rank's work is compared, and compute its work relative to theirs."""

from __future__ import annotations

import numpy as np

from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import middle, usual
from prism.loops.arrays.intervals import Ints


def ranks_elsewhere(view: View, ranks: Ints, rank: int) -> Ints:
    """Select ranks that do not share a host with `rank`: a fault may slow ranks of its host as well, invisibly."""
    own = view.hosts[rank]
    return np.asarray(ranks[(ranks != rank) & ((own < 0) | (view.hosts[ranks] != own))], dtype=np.int64)


def peers(view: View) -> list[Ints]:
    """List sets of ranks to compare: those that reduce gradients together, else the whole job.

    Members of other groups may have waited, in apparent work, for invisible data.
    """
    place = {address: i for i, address in enumerate(view.job.endpoints)}
    groups = sorted((g.members for g in view.parallelism.groups if g.kind == "dp" and len(g.members) > 2), key=len)
    own: dict[int, Ints] = {}
    for members in groups:  # the largest group of each rank is last
        ranks = np.array(sorted(place[m] for m in members), np.int64)
        own |= dict.fromkeys(ranks.tolist(), ranks)
    if len(own) < len(place):
        return [np.arange(len(place))]
    return [np.array(key) for key in sorted({tuple(ranks.tolist()) for ranks in {id(r): r for r in own.values()}.values()})]


def peers_of_stage(view: View) -> list[tuple[Ints, list[Ints] | None]]:
    """List peers of one pipeline stage: other stages have other work, even if healthy.

    If they are only two hosts, or endpoints, with the other such pairs, else with None.
    """
    stage = np.array([view.parallelism.stages.get(address, 0) for address in view.job.endpoints])
    found = [ranks[stage[ranks] == one] for ranks in peers(view) for one in np.unique(stage[ranks])]
    pairs = [ranks for ranks in found if len(np.unique(np.where(view.hosts[ranks] < 0, -1 - ranks, view.hosts[ranks]))) == 2]
    alone = {id(ranks) for ranks in pairs}
    return [(ranks, [pair for pair in pairs if pair is not ranks] if id(ranks) in alone else None) for ranks in found]


def against_peers(view: View, level: Floats, *, pause: float = 2.0) -> Floats:
    """Logarithm of work minus the rank's usual one and minus its peers' change in that step; NaN if unknown.

    Also NaN in steps in which most of its peers and of its stage took `pause` times longer: an evaluation. If peers are few,
    one stage may evaluate and another forward the data; that shows nothing about the others.
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
    """Work without the steps in which most ranks took `pause` times longer than usual (evaluations): these are NaN."""
    level = np.log(np.maximum(work, 1.0))
    shared = middle(level - usual(level), axis=0)
    return np.where(shared <= np.log(pause), work, np.nan)
