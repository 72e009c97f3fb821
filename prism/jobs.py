"""Which endpoints train together.

Endpoints that keep exchanging payload are one cluster; clusters that beat in time on shared hosts are one job, because what
joins them (tensor parallelism, or a ring's way through a host) is not on the wire. Storage, control and monitoring hosts are
no members: with a topology they are not in it, without one their connections are short or one-sided.

Source: LLMPrism (arXiv 2505.00342), section on job recognition; the shared beat replaces its Jaccard similarity of hosts alone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import pairwise
from operator import attrgetter

import networkx as nx
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from collectors.record import Flows
from prism.kernels.edges import Edge, Pair, edges_of, laid_out, recurring, sending, spread
from prism.kernels.intervals import Ints, Union, beat, union
from prism.kernels.ordered import in_order
from prism.kernels.rhythm import rhythm
from prism.kernels.sums import counted, ranges
from prism.kernels.unison import in_step
from prism.model import Job
from prism.topology import Topology


def recognize(
    flows: Flows, topology: Topology | None = None, *, window: tuple[int, int] | None = None, together: float = 0.5
) -> tuple[Job, ...]:
    """Jobs in `flows`, largest first. Too little traffic gives none.

    `window` is when the first and the last record of anybody was, ns, where `flows` are not all that was seen. `together` is
    how far two clusters on one host must beat in time beyond chance, 0 … 1.
    """
    known = _candidates(flows, topology)
    payload = ~flows.control() & (flows.src != flows.dst)
    if not known.all():
        payload &= known.take(flows.src) & known.take(flows.dst)
    edges = edges_of(flows, np.flatnonzero(payload))
    steady = recurring({key: edge for key, edge in edges.items() if topology is not None or _lasting(flows, edge)})
    clusters = _by_signals(flows, _clusters(steady, len(flows.endpoints)), window or flows.window)
    if topology is not None:
        clusters = _by_host(flows, topology, clusters, steady, together)
    jobs = [_job(flows, topology, members, edges) for members in clusters if len(members) > 1]
    return tuple(sorted(jobs, key=largest_first))


def largest_first(job: Job) -> tuple[int, int, tuple[str, ...]]:
    """Sort key of jobs."""
    return -len(job.endpoints), job.start_ns, job.endpoints


def _candidates(flows: Flows, topology: Topology | None) -> np.ndarray:
    if topology is None:
        return np.ones(len(flows.endpoints), np.bool_)
    return np.array([address in topology.endpoints for address in flows.endpoints], np.bool_)


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


def _clusters(steady: dict[Pair, Edge], endpoints: int, *, least: float = 1e-4) -> list[frozenset[int]]:
    """Endpoints that are joined by edges which matter to at least one of their ends."""
    src = np.array([edge.src for edge in steady.values()], np.int64)
    dst = np.array([edge.dst for edge in steady.values()], np.int64)
    volume = np.array([edge.volume for edge in steady.values()], np.int64)
    most = np.zeros(endpoints, np.int64)
    np.maximum.at(most, src, volume)
    np.maximum.at(most, dst, volume)
    joins = volume >= least * np.minimum(most[src], most[dst])
    src, dst = src[joins], dst[joins]
    graph = coo_array((np.ones(len(src)), (src, dst)), shape=(endpoints, endpoints))
    n, label = connected_components(graph, directed=False)
    members, begins = counted(label, n, np.unique(np.concatenate([src, dst])))
    return [frozenset(members[low:high].tolist()) for low, high in pairwise(begins.tolist()) if high > low]


def _by_signals(flows: Flows, clusters: list[frozenset[int]], life: tuple[int, int]) -> list[frozenset[int]]:
    """Join clusters whose members keep exchanging small messages: barriers and scalar reductions over a whole job."""
    if len(clusters) < 2:
        return clusters
    home = {member: i for i, members in enumerate(clusters) for member in members}
    of = np.array([home.get(code, -1) for code in range(len(flows.endpoints))], np.int64)
    signals = np.flatnonzero(flows.control() & (flows.octets > 0))
    src, dst = of[flows.src[signals]], of[flows.dst[signals]]
    across = signals[(src >= 0) & (dst >= 0) & (src != dst)]
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(clusters)))
    for (one, other), edge in edges_of(flows, across).items():
        if len(edge.rows) >= 3 and spread(edge, life) >= 3:
            graph.add_edge(int(of[one]), int(of[other]))
    return [frozenset().union(*(clusters[i] for i in part)) for part in nx.connected_components(graph)]


def _by_host(
    flows: Flows, topology: Topology, clusters: list[frozenset[int]], steady: dict[Pair, Edge], together: float
) -> list[frozenset[int]]:
    """Join clusters that share a host and beat in time."""
    hosts = [{topology.host(flows.endpoints[m]) for m in members} - {None} for members in clusters]
    home = {member: i for i, members in enumerate(clusters) for member in members}
    inside: list[list[Edge]] = [[] for _ in clusters]
    for (src, dst), edge in steady.items():
        if src in home and home[src] == home.get(dst):
            inside[home[src]].append(edge)

    @cache
    def beats(i: int) -> Union:
        return _activity(inside[i])

    @cache
    def steps(i: int) -> Ints:
        return _steps(inside[i])

    at: dict[str | None, list[int]] = defaultdict(list)
    for i, own in enumerate(hosts):
        for host in own:
            at[host].append(i)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(clusters)))
    known = nx.utils.UnionFind(range(len(clusters)))
    tried: set[tuple[int, int]] = set()
    for sharing in at.values():
        for i in sharing:
            for j in sharing:
                if i < j and (i, j) not in tried and known[i] != known[j]:
                    tried.add((i, j))
                    if _in_step(steps(i), steps(j)) or beat(beats(i), beats(j)) >= together:
                        graph.add_edge(i, j)
                        known.union(i, j)
    return [frozenset().union(*(clusters[i] for i in part)) for part in nx.connected_components(graph)]


def _activity(inside: list[Edge]) -> Union:
    """When any edge of a cluster was busy."""
    own = [edge.activity() for edge in inside]
    return union(np.concatenate([a for a, _ in own]), np.concatenate([b for _, b in own]))


def _steps(inside: list[Edge]) -> Ints:
    """When each step of a cluster's heaviest edge ended and the next one began, ns; int64[steps, 2]."""
    heaviest = max(reversed(inside), key=attrgetter("volume"))  # of equal ones the last: edges are in order of their ends
    return rhythm(heaviest.start, heaviest.end, heaviest.octets).quiet


def _in_step(one: Ints, other: Ints) -> bool:
    """Whether steps end in step, or begin so: replicas that reduce gradients inside hosts end them at their own pace."""
    return in_step(one[:, 0], other[:, 0]) or in_step(one[:-1, 1], other[:-1, 1])


def _job(flows: Flows, topology: Topology | None, members: frozenset[int], edges: dict[Pair, Edge]) -> Job:
    inside = [edge for key, edge in edges.items() if key[0] in members and key[1] in members]
    of, low, high = laid_out(inside)
    endpoints = tuple(flows.endpoints[code] for code in sorted(members, key=lambda code: _order(flows.endpoints[code])))
    hosts = {topology.host(address) for address in endpoints} if topology is not None else set()
    return Job(
        id=hashlib.blake2s("\n".join(endpoints).encode(), digest_size=4).hexdigest(),
        endpoints=endpoints,
        hosts=tuple(sorted(host for host in hosts if host is not None)),
        start_ns=int(of.start[low].min()),
        end_ns=int(of.end[ranges(low, high)].max()),
    )


def _order(address: str) -> tuple[int, ...]:
    """Sort key by which 10.0.0.2 comes before 10.0.0.10."""
    parts = address.replace(":", ".").split(".")
    return tuple(int(part, 16) if ":" in address else int(part) for part in parts if part)


def around(flows: Flows, job: Job) -> Flows:
    """The records with an end in a job, in the same order."""
    members = flows.among(job.endpoints)
    inside = members if members.all() else members.take(flows.src) | members.take(flows.dst)
    return (flows if inside.all() else flows.take(np.flatnonzero(inside))).narrowed()


def naming(flows: Flows, job: Job) -> Flows:
    """The records with every member of a job in their dictionary, those too that say nothing in them."""
    silent = tuple(address for address in job.endpoints if address not in set(flows.endpoints))
    return replace(flows, endpoints=flows.endpoints + silent) if silent else flows


def rows_of(flows: Flows, job: Job) -> np.ndarray:
    """Places of the records between two endpoints of a job, in order of sending."""
    members = flows.among(job.endpoints)
    rows = np.flatnonzero(members[flows.src] & members[flows.dst])
    return rows[in_order(sending(flows)[rows])]
