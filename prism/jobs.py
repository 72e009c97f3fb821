"""Which endpoints train together.

Endpoints that keep exchanging payload are one cluster; clusters that beat in time on shared hosts are one job, because what
joins them (tensor parallelism, or a ring's way through a host) is not on the wire. Storage, control and monitoring hosts are
no members: with a topology they are not in it, without one their connections are short or one-sided.

Source: LLMPrism (arXiv 2505.00342), section on job recognition; the shared beat replaces its Jaccard similarity of hosts alone.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np

from collectors.record import Flows, Mask
from prism.jobids import by_job_id
from prism.kernels.carried import Carried, carried, recurrent
from prism.kernels.edges import Edge, edges_of, sending, spread
from prism.kernels.intervals import Ints, Union, beat, union
from prism.kernels.ordered import in_order
from prism.kernels.parts import connected
from prism.kernels.rhythm import rhythm
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
    talk = carried(flows, flows.control(), known)
    lasting = talk.only(_lasts(flows, talk)) if topology is None else talk
    steady = lasting.only(recurrent(lasting, sending(flows), flows.octets))
    clusters = _by_signals(flows, _clusters(steady, len(flows.endpoints)), window or flows.window)
    if topology is not None:
        clusters = _by_host(flows, topology, clusters, steady, together)
    clusters = by_job_id(flows, clusters)
    jobs = [_job(flows, topology, members, talk) for members in clusters if len(members) > 1]
    return tuple(sorted(jobs, key=largest_first))


def largest_first(job: Job) -> tuple[int, int, tuple[str, ...]]:
    """Sort key of jobs."""
    return -len(job.endpoints), job.start_ns, job.endpoints


def _candidates(flows: Flows, topology: Topology | None) -> np.ndarray:
    if topology is None:
        return np.ones(len(flows.endpoints), np.bool_)
    return np.array([address in topology.endpoints for address in flows.endpoints], np.bool_)


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


def _clusters(steady: Carried, endpoints: int, *, least: float = 1e-4) -> list[frozenset[int]]:
    """Endpoints that are joined by pairs which matter to at least one of their ends."""
    src, dst, volume = steady.src, steady.dst, steady.volume
    most = np.zeros(endpoints, np.int64)
    np.maximum.at(most, src, volume)
    np.maximum.at(most, dst, volume)
    joins = volume >= least * np.minimum(most[src], most[dst])
    members, begins = connected(np.stack([src[joins], dst[joins]], axis=1), np.arange(endpoints), endpoints)
    return [frozenset(members[low:high].tolist()) for low, high in pairwise(begins.tolist()) if high - low > 1]


def _by_signals(flows: Flows, clusters: list[frozenset[int]], life: tuple[int, int]) -> list[frozenset[int]]:
    """Join clusters whose members keep exchanging small messages: barriers and scalar reductions over a whole job."""
    if len(clusters) < 2:
        return clusters
    of = _homes(clusters, len(flows.endpoints))
    signals = np.flatnonzero(flows.control() & (flows.octets > 0))
    src, dst = of[flows.src[signals]], of[flows.dst[signals]]
    across = signals[(src >= 0) & (dst >= 0) & (src != dst)]
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(clusters)))
    for (one, other), edge in edges_of(flows, across).items():
        if len(edge.rows) >= 3 and spread(edge, life) >= 3:
            graph.add_edge(int(of[one]), int(of[other]))
    return [frozenset().union(*(clusters[i] for i in part)) for part in nx.connected_components(graph)]


def _homes(clusters: list[frozenset[int]], endpoints: int) -> Ints:
    """The cluster of each endpoint; -1 of those in none. int64[endpoints]."""
    home = np.full(endpoints, -1)
    for i, members in enumerate(clusters):
        home[list(members)] = i
    return home


def _by_host(
    flows: Flows, topology: Topology, clusters: list[frozenset[int]], steady: Carried, together: float
) -> list[frozenset[int]]:
    """Join clusters that share a host and beat in time."""
    if len(clusters) < 2:
        return clusters
    hosts = [{topology.host(flows.endpoints[m]) for m in members} - {None} for members in clusters]
    home = _homes(clusters, len(flows.endpoints))
    within = (home[steady.src] == home[steady.dst]) & (home[steady.src] >= 0)
    heaviest = _by_home(edges_of(flows, steady.rows(_heaviest(steady, home, within))).values(), home)

    @cache
    def inside() -> dict[int, list[Edge]]:
        return _by_home(edges_of(flows, steady.rows(within)).values(), home)

    @cache
    def beats(i: int) -> Union:
        return _activity(inside()[i])

    @cache
    def steps(i: int) -> Ints:  # when each step of its heaviest edge ended and the next one began, ns; int64[steps, 2]
        return rhythm(*heaviest[i][0].moved).quiet

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


def _by_home(edges: Iterable[Edge], home: Ints) -> dict[int, list[Edge]]:
    """Edges inside clusters, by the cluster."""
    out = defaultdict[int, list[Edge]](list)
    for edge in edges:
        out[int(home[edge.src])].append(edge)
    return out


def _activity(inside: list[Edge]) -> Union:
    """When any edge of a cluster was busy."""
    own = [edge.activity() for edge in inside]
    return union(np.concatenate([a for a, _ in own]), np.concatenate([b for _, b in own]))


def _heaviest(steady: Carried, home: Ints, within: Mask) -> Mask:
    """The heaviest of the pairs `within` each cluster, of equal ones the last."""
    order = np.argsort(steady.volume, kind="stable")
    order = order[within[order]]
    last = np.full(int(home.max()) + 1, -1)
    last[home[steady.src[order]]] = order
    out = np.zeros(len(steady), np.bool_)
    out[last[last >= 0]] = True
    return out


def _in_step(one: Ints, other: Ints) -> bool:
    """Whether steps end in step, or begin so: replicas that reduce gradients inside hosts end them at their own pace."""
    return in_step(one[:, 0], other[:, 0]) or in_step(one[:-1, 1], other[:-1, 1])


def _job(flows: Flows, topology: Topology | None, members: frozenset[int], talk: Carried) -> Job:
    own = _homes([members], len(flows.endpoints)) == 0
    inside = own[talk.src] & own[talk.dst]
    endpoints = tuple(flows.endpoints[code] for code in sorted(members, key=lambda code: _order(flows.endpoints[code])))
    hosts = {topology.host(address) for address in endpoints} if topology is not None else set()
    return Job(
        id=hashlib.blake2s("\n".join(endpoints).encode(), digest_size=4).hexdigest(),
        endpoints=endpoints,
        hosts=tuple(sorted(host for host in hosts if host is not None)),
        start_ns=int(talk.first[inside].min()),
        end_ns=int(talk.last[inside].max()),
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
