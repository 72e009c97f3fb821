"""Group endpoints into clusters: they keep exchanging payload, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from collectors.columns.record import Codes, Flows, Mask
from prism.jobs import constants as c
from prism.loops.arrays.connected_parts import connected
from prism.loops.arrays.edges import Edge, edges_of, sending, spread
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried, carried, recurrent
from prism.topology import Topology

Members = frozenset[int]


def pair_volumes(flows: Flows, topology: Topology | None) -> tuple[Carried, Carried]:
    """Sum the octets of each pair of candidates, and select the pairs with recurrent traffic.

    With a topology, only its endpoints are candidates. Without one, connections must last (storage clients open new ones), and
    endpoints that only send, or only receive, a little of what their partners move are storage or monitoring.
    """
    known = np.ones(len(flows.endpoints), np.bool_)
    if topology is not None:
        known = np.array([address in topology.endpoints for address in flows.endpoints], np.bool_)
    volumes = carried(flows, flows.control(), known)
    lasting = volumes.only(_lasts(flows, volumes)) if topology is None else volumes
    steady = lasting.only(recurrent(lasting, sending(flows), flows.octets))
    return volumes, steady.only(~_serves(steady)) if topology is None else steady


def _serves(pairs: Carried) -> Mask:
    """Select pairs of endpoints with octets in one direction only, which are few of each of their partners'.

    Still fewer are control messages, of ranks of which nothing else is visible.
    """
    src, dst, ends = pairs.src, pairs.dst, max(pairs.src.max(initial=0), pairs.dst.max(initial=0)) + 1
    leaves, enters = np.bincount(src, pairs.volume, ends), np.bincount(dst, pairs.volume, ends)
    moved = leaves + enters
    few = np.ones(ends, np.bool_)
    for own, other in ((src, dst), (dst, src)):
        share = pairs.volume / np.maximum(moved[other], 1)
        few[own[(share >= c.CONSTANT) | (share < c.TRIFLE)]] = False
    serves = few & (np.abs(enters - leaves) > (1 - c.EQUAL) * moved)
    return np.asarray(serves[src] | serves[dst])


def clusters_of(steady: Carried, endpoints: int) -> list[Members]:
    """Group endpoints that are joined by pairs which carry a relevant share at one of their ends."""
    src, dst, volume = steady.src, steady.dst, steady.volume
    heaviest = np.zeros(endpoints, np.int64)
    np.maximum.at(heaviest, src, volume)
    np.maximum.at(heaviest, dst, volume)
    joins = volume >= c.TRIFLE * np.minimum(heaviest[src], heaviest[dst])
    return components(src[joins], dst[joins], endpoints)


def components(src: Ints, dst: Ints, endpoints: int) -> list[Members]:
    """Return the connected components of pairs with two or more endpoints."""
    members, begins = connected(np.stack([src, dst], axis=1).astype(np.int64), np.arange(endpoints), endpoints)
    return [frozenset(members[low:high].tolist()) for low, high in pairwise(begins.tolist()) if high - low > 1]


def cluster_numbers(clusters: Sequence[Iterable[int]], endpoints: int) -> Ints:
    """Number of the cluster of each endpoint, −1 if none; int64[endpoints]."""
    cluster_of = np.full(endpoints, -1)
    for i, members in enumerate(clusters):
        cluster_of[list(members)] = i
    return cluster_of


def unions(count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Group the numbers 0 ... count − 1 that pairs join."""
    links = np.array(list(pairs), np.int64).reshape(-1, 2)
    order, begins = connected(links, np.arange(count), count)
    return [sorted(order[low:high].tolist()) for low, high in pairwise(begins.tolist())]


def joined(clusters: Sequence[Members], pairs: Iterable[tuple[int, int]]) -> list[Members]:
    """Merge the clusters that pairs of their numbers join."""
    return [frozenset().union(*(clusters[i] for i in part)) for part in unions(len(clusters), pairs)]


def join_by_barriers(flows: Flows, steady: Carried, clusters: list[Members], life: tuple[int, int]) -> list[Members]:
    """Merge clusters whose members keep exchanging small messages: barriers and scalar reductions of a whole job.

    These are control messages, or recurrent pairs with so few octets that they joined no endpoints.
    """
    if len(clusters) < 2:
        return clusters
    of = cluster_numbers(clusters, len(flows.endpoints))
    signals = np.flatnonzero(flows.control() & (flows.octets > 0))
    light = steady.rows(_across(of, steady.src, steady.dst))
    rows = np.concatenate([signals[_across(of, flows.src[signals], flows.dst[signals])], light])
    edges = edges_of(flows, rows).items()
    lasting = [pair for pair, edge in edges if len(edge.rows) >= c.MIN_STEPS <= spread(edge, life)]
    return joined(clusters, [(int(of[one]), int(of[other])) for one, other in lasting])


def _across(cluster_of: Ints, src: Ints | Codes, dst: Ints | Codes) -> Mask:
    """Select pairs of endpoints in two different clusters."""
    one, other = cluster_of[src], cluster_of[dst]
    return np.asarray((one >= 0) & (other >= 0) & (one != other))


def sampled_edges(flows: Flows, steady: Carried, clusters: Sequence[Members]) -> list[tuple[Edge, ...]]:
    """Select some edges of each cluster, in order from the heaviest to the lightest."""
    cluster_of = cluster_numbers(clusters, len(flows.endpoints))
    of = np.where(cluster_of[steady.src] == cluster_of[steady.dst], cluster_of[steady.src], -1)
    order = np.lexsort((-steady.volume, of))
    begins = np.searchsorted(of[order], np.arange(len(clusters) + 1))
    chosen = np.zeros(len(steady), np.bool_)
    max_pairs = max(c.SAMPLED_PAIRS, 8 * c.SAMPLED_PAIRS // max(len(clusters), 1))
    for a, b in pairwise(begins.tolist()):
        spaced = np.linspace(0, 1, min(b - a, max_pairs)) ** 2  # more of the heavy ones: many light pairs may belong to experts
        chosen[order[np.unique((a + spaced * (b - 1 - a)).astype(np.int64))]] = True
    out: list[list[Edge]] = [[] for _ in clusters]
    for edge in edges_of(flows, steady.rows(chosen)).values():
        out[cluster_of[edge.src]].append(edge)
    return [tuple(sorted(own, key=lambda edge: -edge.volume)) for own in out]


def _lasts(flows: Flows, volumes: Carried) -> Mask:
    """Select pairs with most octets on lasting connections: training keeps them open, storage clients do not."""
    edges = edges_of(flows, volumes.rows(np.ones(len(volumes), np.bool_)))  # in order of their ends, as the pairs are
    ports = flows.src_port.astype(np.int64) << 16 | flows.dst_port
    return np.fromiter((_lasting(edge, ports[edge.rows]) for edge in edges.values()), np.bool_, len(volumes))


def _lasting(edge: Edge, ports: Ints) -> bool:
    """Check whether most octets of an edge use connections (`ports` of each record) that are open for much of its time."""
    number = np.unique(ports, return_inverse=True)[1]
    first, last = np.full(number.max() + 1, edge.end.max()), np.zeros(number.max() + 1, np.int64)
    np.minimum.at(first, number, edge.start)
    np.maximum.at(last, number, edge.end)
    lasting = last - first >= c.LASTING * (edge.end.max() - edge.start.min())
    return 2 * int(edge.octets[lasting[number]].sum()) >= edge.volume
