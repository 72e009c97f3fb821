"""Decide whether traffic is training: equal volumes in each step, balanced at every host, and no servers.

Each rank of a training job contributes to the gradients and receives them in every step. So the octets that enter a host equal
those that leave it, and the same edges carry the same octets in each step. Copies, broadcasts, storage, RPC, shuffles and file
sharing violate one of the two. Parameter servers violate neither: they form a complete bipartite graph with unequal sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from prism.jobs import constants as c
from prism.jobs.cluster_periods import ClusterRhythm, constant
from prism.jobs.clusters import Members, components
from prism.loops.arrays.intervals import Floats, Ints, weighted_median
from prism.loops.arrays.pair_volumes import Carried

Verdict = Literal["training", "unknown", "other"]


def classify(
    clusters: Sequence[Members], rhythms: Sequence[ClusterRhythm], volumes: Carried, host: Ints | None, endpoints: int
) -> Verdict:
    """Classify the clusters of one candidate as "training", "other", or "unknown" if there are too few repetitions."""
    members = np.zeros(endpoints, np.bool_)
    members[[end for own in clusters for end in own]] = True
    inside = members[volumes.src] & members[volumes.dst]
    src, dst, volume = volumes.src[inside], volumes.dst[inside], volumes.volume[inside].astype(np.float64)
    if lopsided(src, dst, volume, host) or _has_servers(clusters, src, dst, volume):
        return "other"
    if constant_share(rhythms) >= c.CONSTANT:
        return "training"
    return "unknown"


def lopsided(src: Ints, dst: Ints, volume: Floats, host: Ints | None) -> bool:
    """Check whether octets enter hosts and do not leave them, or the reverse: many in total, or most at a first and a last
    host.

    Without hosts, an endpoint at which a ring enters its host is matched with another at which the same octets leave.
    """
    ends = (src, dst) if host is None else (_at(src, host), _at(dst, host))
    leaves, enters = (np.bincount(own, volume, int(max(map(np.max, ends))) + 1) for own in ends)
    surplus, moved = enters - leaves, enters + leaves
    if host is None:
        ascending = np.sort(surplus)
        return float(np.abs(ascending + ascending[::-1]).sum()) > c.LOPSIDED * float(moved.sum())
    busy = moved > c.CONSTANT * np.median(moved[moved > 0])
    one_way = np.abs(surplus) > 2 * c.LOPSIDED * moved
    is_frequent = int(np.count_nonzero(busy & one_way)) > 1
    return is_frequent or float(np.abs(surplus).sum()) > c.LOPSIDED * float(moved.sum())


def _at(ends: Ints, host: Ints) -> Ints:
    """Host of each endpoint; an endpoint without a host is its own."""
    known = host[ends]
    return np.where(known >= 0, known, len(host) + ends)


def _has_servers(clusters: Sequence[Members], src: Ints, dst: Ints, volume: Floats) -> bool:
    """Check whether most octets are in clusters in which a few endpoints exchange with all others, but these not with each
    other.
    """
    octets_served = 0.0
    for members in clusters:
        own = np.isin(src, list(members)) & np.isin(dst, list(members))
        if len(members) > c.SMALL_GROUP and _is_bipartite(src[own], dst[own], volume[own]):
            octets_served += float(volume[own].sum())
    return 2 * octets_served > float(volume.sum())


def _is_bipartite(src: Ints, dst: Ints, volume: Floats) -> bool:
    heavy = volume >= c.CONSTANT * weighted_median(volume, volume)
    ends, number = np.unique(np.concatenate([src[heavy], dst[heavy]]), return_inverse=True)
    one, other = np.split(number, 2)
    n = len(ends)
    sent = set(zip(one.tolist(), other.tolist(), strict=True))
    if 2 * sum((b, a) in sent for a, b in sent) <= len(sent):  # servers answer; rings have one direction
        return False
    sides = components(np.concatenate([one, one + n]), np.concatenate([other + n, other]), 2 * n)
    if len(sides) != 2:
        return False
    servers, clients = sorted((sum(end < n for end in sides[0]), sum(end < n for end in sides[1])))
    edges = len(set(zip(np.minimum(one, other).tolist(), np.maximum(one, other).tolist(), strict=True)))
    return clients >= c.SIDES * servers and edges > c.COMPLETE * servers * clients


def constant_share(rhythms: Sequence[ClusterRhythm]) -> float:
    """Share of the sampled octets on edges with equal octets in each step, for the best marks of any cluster."""
    if len(rhythms) == 1:
        return rhythms[0].constant
    edges = [edge for rhythm in rhythms for edge in rhythm.edges]
    best = 0.0
    for rhythm in rhythms:
        if best < c.CONSTANT and rhythm.period:
            best = max(best, constant(edges, rhythm.marks))
    return best
