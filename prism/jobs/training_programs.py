"""Whether traffic is training: it repeats a program of equal volumes, balanced at every host, and nobody serves the others.

Each rank of a training job contributes to the gradients and receives them, in every step. So as many octets enter a host as
leave it, and the same edges carry the same octets in each step. Copies, broadcasts, storage, RPC, shuffles and file sharing
break one of the two. Parameter servers break neither: they form a complete two-sided graph with unequal sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from prism.jobs import constants as c
from prism.jobs.cluster_periods import Beat, constant
from prism.jobs.clusters import Members, components
from prism.loops.arrays.intervals import Floats, Ints, weighted_median
from prism.loops.arrays.pair_volumes import Carried

Verdict = Literal["training", "unknown", "other"]


def verdict(clusters: Sequence[Members], beats: Sequence[Beat], talk: Carried, host: Ints | None, endpoints: int) -> Verdict:
    """Whether the clusters of one candidate train. "unknown": too few repetitions were seen to say so."""
    members = np.zeros(endpoints, np.bool_)
    members[[end for own in clusters for end in own]] = True
    inside = members[talk.src] & members[talk.dst]
    src, dst, volume = talk.src[inside], talk.dst[inside], talk.volume[inside].astype(np.float64)
    if lopsided(src, dst, volume, host) or _served(clusters, src, dst, volume):
        return "other"
    if constant_share(beats) >= c.CONSTANT:
        return "training"
    return "unknown"


def lopsided(src: Ints, dst: Ints, volume: Floats, host: Ints | None) -> bool:
    """Whether octets enter hosts and do not leave them, or the reverse: many in all, or nearly all at a first and a last host.

    Without hosts, an endpoint at which a ring enters its host is matched with another at which as much leaves.
    """
    ends = (src, dst) if host is None else (_at(src, host), _at(dst, host))
    leaves, enters = (np.bincount(own, volume, int(max(map(np.max, ends))) + 1) for own in ends)
    surplus, moved = enters - leaves, enters + leaves
    if host is None:
        ascending = np.sort(surplus)
        return float(np.abs(ascending + ascending[::-1]).sum()) > c.LOPSIDED * float(moved.sum())
    busy = moved > c.CONSTANT * np.median(moved[moved > 0])
    one_way = np.abs(surplus) > 2 * c.LOPSIDED * moved
    often = int(np.count_nonzero(busy & one_way)) > 1
    return often or float(np.abs(surplus).sum()) > c.LOPSIDED * float(moved.sum())


def _at(ends: Ints, host: Ints) -> Ints:
    """The host of each endpoint; an endpoint without one is its own."""
    known = host[ends]
    return np.where(known >= 0, known, len(host) + ends)


def _served(clusters: Sequence[Members], src: Ints, dst: Ints, volume: Floats) -> bool:
    """Whether most octets are in clusters in which a few endpoints exchange with all others, and these not with each other."""
    served = 0.0
    for members in clusters:
        own = np.isin(src, list(members)) & np.isin(dst, list(members))
        if len(members) > 3 and _two_sided(src[own], dst[own], volume[own]):
            served += float(volume[own].sum())
    return 2 * served > float(volume.sum())


def _two_sided(src: Ints, dst: Ints, volume: Floats) -> bool:
    heavy = volume >= c.CONSTANT * weighted_median(volume, volume)
    ends, number = np.unique(np.concatenate([src[heavy], dst[heavy]]), return_inverse=True)
    one, other = np.split(number, 2)
    n = len(ends)
    sent = set(zip(one.tolist(), other.tolist(), strict=True))
    if 2 * sum((b, a) in sent for a, b in sent) <= len(sent):  # servers answer; rings go one way
        return False
    halves = components(np.concatenate([one, one + n]), np.concatenate([other + n, other]), 2 * n)
    if len(halves) != 2:
        return False
    servers, clients = sorted((sum(end < n for end in halves[0]), sum(end < n for end in halves[1])))
    edges = len(set(zip(np.minimum(one, other).tolist(), np.maximum(one, other).tolist(), strict=True)))
    return clients >= c.SIDES * servers and edges > 0.8 * servers * clients


def constant_share(beats: Sequence[Beat]) -> float:
    """Share of the sampled octets on edges that carry as many in each step, at the best marks of any cluster."""
    edges = [edge for beat in beats for edge in beat.edges]
    marked = [beat for beat in beats if len(beat.marks) > c.MIN_STEPS]
    if len(beats) == 1:
        return max((beat.constant for beat in marked), default=0.0)
    return max((constant(edges, beat.marks) for beat in marked), default=0.0)
