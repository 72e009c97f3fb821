"""Decide whether traffic is training: equal volumes in each step, balanced at every host, and no servers.

Each rank of a training job contributes to the gradients and receives them in every step. So the octets that enter a host equal
those that leave it, and the same edges carry the same octets in each step. Copies, broadcasts, storage, RPC, shuffles and file
sharing violate one of the two. Parameter servers violate neither: they form a complete bipartite graph with unequal sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from collectors.columns.record import Flows
from prism.evidence.turn_taking import overlap
from prism.jobs import constants as c
from prism.jobs.cluster_periods import ClusterRhythm, repeats
from prism.jobs.clusters import Members, cluster_numbers, components
from prism.loops.arrays.edges import edges_of
from prism.loops.arrays.intervals import Floats, Ints, weighted_median
from prism.loops.arrays.pair_volumes import Carried

Verdict = Literal["training", "unknown", "other"]


def classify(
    clusters: Sequence[Members], rhythms: Sequence[ClusterRhythm], volumes: Carried, host: Ints | None, endpoints: int
) -> Verdict:
    """Classify the clusters of one candidate as "training", "other", or "unknown" if there are too few repetitions."""
    members = np.zeros(endpoints, np.bool_)
    members[[end for own in clusters for end in own]] = True
    inside = volumes.only(members[volumes.src] & members[volumes.dst])
    lopped = lopsided(inside.src, inside.dst, inside.volume.astype(np.float64), host)
    if lopped or _has_servers(clusters, rhythms[0].flows, inside, endpoints):
        return "other"
    edges = [edge for rhythm in rhythms for edge in rhythm.edges]
    stepping = (rhythm.marks for rhythm in rhythms if rhythm.period)  # one is enough
    return "training" if any(repeats(edges, marks) for marks in stepping) else "unknown"


def lopsided(src: Ints, dst: Ints, volume: Floats, host: Ints | None) -> bool:
    """Check whether octets enter hosts and do not leave them, or the reverse: many in total, or most at a first and a last
    host.

    Without hosts, an endpoint at which a ring enters its host is matched with another at which the same octets leave; it
    does so in two hosts or more.
    """
    ends = (src, dst) if host is None else (_at(src, host), _at(dst, host))
    leaves, enters = (np.bincount(own, volume, int(max(map(np.max, ends))) + 1) for own in ends)
    surplus, moved = enters - leaves, enters + leaves
    if host is None:
        ascending = np.sort(surplus)
        hidden = ascending[::-1] * (np.count_nonzero(moved) > c.SMALL_GROUP)
        return float(np.abs(ascending + hidden).sum()) > c.LOPSIDED * float(moved.sum())
    busy = moved > c.CONSTANT * np.median(moved[moved > 0])
    one_way = np.abs(surplus) > 2 * c.LOPSIDED * moved
    is_frequent = int(np.count_nonzero(busy & one_way)) > 1
    return is_frequent or float(np.abs(surplus).sum()) > c.LOPSIDED * float(moved.sum())


def _at(ends: Ints, host: Ints) -> Ints:
    """Host of each endpoint; an endpoint without a host is its own."""
    known = host[ends]
    return np.where(known >= 0, known, len(host) + ends)


def _has_servers(clusters: Sequence[Members], flows: Flows, pairs: Carried, endpoints: int) -> bool:
    """Check whether most octets are in clusters of two sides: endpoints exchange with all of the other side, none of their own.

    Several servers with more clients, and one server with four clients or more, are clear: of collectives only linear ones
    have such a root, and they move as servers do. One server of three clients, and as many servers as clients, must answer:
    clients send, and then receive. The root of a tree, and collectives of two groups of ranks, send and receive at once.
    Of four ranks, two and two may alternate.
    """
    home = cluster_numbers(clusters, endpoints)
    of = np.where(home[pairs.src] == home[pairs.dst], home[pairs.src], -1)
    order, octets_served = np.argsort(of, kind="stable"), 0
    begins = np.searchsorted(of[order], np.arange(len(clusters) + 1))
    for low, high in pairwise(begins.tolist()):
        own = np.sort(order[low:high])
        servers, clients = _sides(pairs.src[own], pairs.dst[own], pairs.volume[own])
        fewer = clients >= c.SIDES * servers > 0
        waits = (fewer or servers >= c.SMALL_GROUP) and servers + clients > c.SMALL_GROUP
        sure = fewer and (servers > 1 or clients > c.SMALL_GROUP)
        if waits and (sure or _alternates(flows, pairs, own)):
            octets_served += int(pairs.volume[own].sum())
    return 2 * octets_served > int(pairs.volume.sum())


def _alternates(flows: Flows, pairs: Carried, own: Ints) -> bool:
    """Check whether clients wait for their servers: endpoints of its `own` pairs do not send while they receive."""
    ends = np.intersect1d(pairs.src[own], pairs.dst[own])
    ends = ends[:: -(-len(ends) // c.SAMPLED_PAIRS)]
    chosen = np.zeros(len(pairs), np.bool_)
    chosen[own] = np.isin(pairs.src[own], ends) | np.isin(pairs.dst[own], ends)
    edges = edges_of(flows, pairs.rows(chosen)).values()
    overlaps = [overlap([e for e in edges if e.src == end], [e for e in edges if e.dst == end]) for end in ends.tolist()]
    return float(np.median(overlaps)) < c.CONSTANT


def _sides(src: Ints, dst: Ints, volume: Ints) -> tuple[int, int]:
    """Sizes of both sides of a complete bipartite graph whose edges have two directions, ascending; (0, 0) if it is none."""
    heavy = volume >= c.EQUAL * weighted_median(volume, volume)
    ends, number = np.unique(np.concatenate([src[heavy], dst[heavy]]), return_inverse=True)
    one, other = np.split(number, 2)
    n = len(ends)
    sent = set(zip(one.tolist(), other.tolist(), strict=True))
    if 2 * sum((b, a) in sent for a, b in sent) <= len(sent):  # servers answer; rings have one direction
        return 0, 0
    sides = components(np.concatenate([one, one + n]), np.concatenate([other + n, other]), 2 * n)
    servers, clients = sorted(sum(end < n for end in side) for side in sides) if len(sides) == 2 else (0, 0)
    edges = len({(min(a, b), max(a, b)) for a, b in sent})
    return (servers, clients) if edges > c.COMPLETE * servers * clients else (0, 0)
