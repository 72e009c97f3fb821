"""Clusters: endpoints that keep exchanging payload, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from collectors.columns.record import Flows, Mask
from prism.jobs import constants as c
from prism.loops.arrays.connected_parts import connected
from prism.loops.arrays.edges import Edge, edges_of, sending, spread
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried, carried, recurrent
from prism.topology import Topology

Members = frozenset[int]


def talk_of(flows: Flows, topology: Topology | None) -> tuple[Carried, Carried]:
    """What pairs of candidates carried, and of these the pairs whose traffic comes back all through their life.

    With a topology, only its endpoints are candidates. Without one, connections must last: storage clients open new ones.
    """
    known = np.ones(len(flows.endpoints), np.bool_)
    if topology is not None:
        known = np.array([address in topology.endpoints for address in flows.endpoints], np.bool_)
    talk = carried(flows, flows.control(), known)
    lasting = talk.only(_lasts(flows, talk)) if topology is None else talk
    return talk, lasting.only(recurrent(lasting, sending(flows), flows.octets))


def clusters_of(steady: Carried, endpoints: int) -> list[Members]:
    """Endpoints that are joined by pairs which matter to at least one of their ends."""
    src, dst, volume = steady.src, steady.dst, steady.volume
    most = np.zeros(endpoints, np.int64)
    np.maximum.at(most, src, volume)
    np.maximum.at(most, dst, volume)
    joins = volume >= c.TRIFLE * np.minimum(most[src], most[dst])
    return components(src[joins], dst[joins], endpoints)


def components(src: Ints, dst: Ints, endpoints: int) -> list[Members]:
    """Endpoints that pairs connect, those of two or more."""
    members, begins = connected(np.stack([src, dst], axis=1).astype(np.int64), np.arange(endpoints), endpoints)
    return [frozenset(members[low:high].tolist()) for low, high in pairwise(begins.tolist()) if high - low > 1]


def homes(clusters: Sequence[Iterable[int]], endpoints: int) -> Ints:
    """The cluster of each endpoint; -1 of those in none. int64[endpoints]."""
    home = np.full(endpoints, -1)
    for i, members in enumerate(clusters):
        home[list(members)] = i
    return home


def unions(count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The numbers 0 ... count - 1, those together that pairs join."""
    links = np.array(list(pairs), np.int64).reshape(-1, 2)
    order, begins = connected(links, np.arange(count), count)
    return [sorted(order[low:high].tolist()) for low, high in pairwise(begins.tolist())]


def joined(clusters: Sequence[Members], pairs: Iterable[tuple[int, int]]) -> list[Members]:
    """The clusters, those as one that pairs of their numbers join."""
    return [frozenset().union(*(clusters[i] for i in part)) for part in unions(len(clusters), pairs)]


def met_at_barriers(flows: Flows, clusters: list[Members], life: tuple[int, int]) -> list[Members]:
    """Join clusters whose members keep exchanging small messages: barriers and scalar reductions over a whole job."""
    if len(clusters) < 2:
        return clusters
    of = homes(clusters, len(flows.endpoints))
    signals = np.flatnonzero(flows.control() & (flows.octets > 0))
    src, dst = of[flows.src[signals]], of[flows.dst[signals]]
    across = signals[(src >= 0) & (dst >= 0) & (src != dst)]
    edges = edges_of(flows, across).items()
    lasting = [pair for pair, edge in edges if len(edge.rows) >= c.MIN_STEPS <= spread(edge, life)]
    return joined(clusters, [(int(of[one]), int(of[other])) for one, other in lasting])


def sampled(flows: Flows, steady: Carried, clusters: Sequence[Members]) -> list[list[Edge]]:
    """Some edges of each cluster, from the heaviest to the lightest."""
    home = homes(clusters, len(flows.endpoints))
    within = (home[steady.src] == home[steady.dst]) & (home[steady.src] >= 0)
    order = np.lexsort((-steady.volume, home[steady.src]))
    order = order[within[order]]
    of = home[steady.src[order]]
    low, high = np.searchsorted(of, np.arange(len(clusters))), np.searchsorted(of, np.arange(len(clusters)), "right")
    chosen = np.zeros(len(steady), np.bool_)
    most = max(c.SAMPLED_PAIRS, 8 * c.SAMPLED_PAIRS // max(len(clusters), 1))
    for a, b in zip(low.tolist(), high.tolist(), strict=True):
        spaced = np.linspace(0, 1, min(b - a, most)) ** 2  # more of the heavy ones: many light pairs may be of experts
        chosen[order[np.unique((a + spaced * (b - 1 - a)).astype(np.int64))]] = True
    out: list[list[Edge]] = [[] for _ in clusters]
    for edge in edges_of(flows, steady.rows(chosen)).values():
        out[home[edge.src]].append(edge)
    return out


def _lasts(flows: Flows, talk: Carried) -> Mask:
    """Which pairs are `_lasting`."""
    edges = edges_of(flows, talk.rows(np.ones(len(talk), np.bool_)))  # in order of their ends, as the pairs are
    return np.fromiter((_lasting(flows, edge) for edge in edges.values()), np.bool_, len(talk))


def _lasting(flows: Flows, edge: Edge, *, share: float = 0.25) -> bool:
    """Whether an edge's octets ride on connections that last: training keeps its own open, clients of storage do not."""
    ports = flows.src_port[edge.rows].astype(np.int64) << 16 | flows.dst_port[edge.rows]
    if not ports.any():
        return True
    life = max(int(edge.end.max() - edge.start.min()), 1)
    lasting = 0
    for port in np.unique(ports):
        own = ports == port
        if edge.end[own].max() - edge.start[own].min() >= share * life:
            lasting += int(edge.octets[own].sum())
    return lasting * 2 >= edge.volume
