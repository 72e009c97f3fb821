"""Convert traffic: pairs of a job, switches and links, flow records of a pair; see `board_views`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.model import JobDiagnosis, Pair
from prism.topology import Topology
from prism.tracking.board import Board, Case
from prism.tracking.flow_sources import Records
from prism.views.board_views import Json, ns

By = Literal["endpoint", "host", "leaf"]
MAX_NODES = 500  # readable number of nodes of a graph


def graph(
    job: JobDiagnosis, topology: Topology | None, *, by: By = "endpoint", kind: str | None = None, max_nodes: int = MAX_NODES
) -> Json:
    """Build nodes and edges of a job's traffic by endpoint, host or leaf; above `max_nodes` by the next coarser level."""
    pairs = [pair for pair in job.parallelism.pairs if kind in (None, pair.kind)]
    ways: tuple[By, ...] = ("endpoint", "host", "leaf")
    for way in ways[ways.index(by) :]:
        name = _named(topology, way)
        names = sorted({name(address) for address in job.job.endpoints})
        if len(names) <= max_nodes:
            break
    nodes = [_node(one, job, topology) for one in job.job.endpoints] if way == "endpoint" else [_plain(n) for n in names]
    return {"by": way, "nodes": nodes, "edges": _edges(pairs, name)}


def _named(topology: Topology | None, way: By) -> Callable[[str], str]:
    """Return a function that names an endpoint; by address if its host or leaf is unknown."""
    if topology is None or way == "endpoint":
        return lambda address: address
    place = topology.host if way == "host" else topology.leaf
    return lambda address: place(address) or address


def _node(address: str, found: JobDiagnosis, topology: Topology | None) -> Json:
    unknown = 0 if found.parallelism.layout.pp == 1 else None
    return {
        "id": address,
        "leaf": topology.leaf(address) if topology else None,
        "host": topology.host(address) if topology else None,
        "stage": found.parallelism.stages.get(address, unknown),
        "rank": found.job.endpoints.index(address),
    }


def _plain(name: str) -> Json:
    return {"id": name, "leaf": None, "host": None, "stage": None, "rank": None}


def _edges(pairs: list[Pair], name: Callable[[str], str]) -> list[Json]:
    octets: Counter[tuple[str, str, str]] = Counter()
    for pair in pairs:
        octets[name(pair.src), name(pair.dst), pair.kind] += pair.octets
    return [{"src": src, "dst": dst, "kind": kind, "octets": n} for (src, dst, kind), n in sorted(octets.items())]


def switches(shown: Board, flows: Flows | None) -> Json:
    """Summarise switches and links from records (`flows`), with the findings that name them.

    A record counts at the switches of its path; without a path, at the switches of its ends. A leaf receives traffic to
    endpoints below it and sends their traffic; for a switch between leaves both are equal. Octets are corrected for sampling.
    Without records, numbers are None.
    """
    topology = shown.topology
    seen = _Seen(topology, flows)
    known = {*(topology.switches() if topology else ()), *seen.octets_in, *seen.octets_out}
    blamed = _blamed(shown)
    jobs = _jobs_at(shown)
    links = {tuple(sorted(link)) for link in (topology.links if topology else ())}
    both = {*links, *(tuple(reversed(link)) for link in links), *seen.links}
    return {
        "items": [
            {
                "id": switch,
                "endpoints": sum(e.leaf == switch for e in topology.endpoints.values()) if topology else 0,
                "jobs": sorted(jobs.get(switch, ())),
                **seen.numbers(switch),
                "findings": blamed.get((switch,), []),
            }
            for switch in sorted(known)
        ],
        "links": [
            {
                "src": src,
                "dst": dst,
                "octets": seen.links[src, dst] if flows is not None else None,
                "findings": blamed.get(tuple(sorted((src, dst))), []),
            }
            for src, dst in sorted(both)
        ],
    }


class _Seen:
    """Counts of switches from records: octets, marks and losses by switch; octets by link."""

    def __init__(self, topology: Topology | None, flows: Flows | None) -> None:
        self.octets_in: Counter[str] = Counter()
        self.octets_out: Counter[str] = Counter()
        self.links: Counter[tuple[str, str]] = Counter()
        self.trouble: dict[str, Counter[str]] = {name: Counter() for name in ("ecn", "cnp", "retransmits")}
        self.known = flows is not None
        if flows is not None and len(flows):
            self._count(topology, flows)

    def numbers(self, switch: str) -> Json:
        """Return octets in and out of a switch, with marks and losses."""
        counted = {"octets_in": self.octets_in, "octets_out": self.octets_out, **self.trouble}
        return {name: count[switch] if self.known else None for name, count in counted.items()}

    def _count(self, topology: Topology | None, flows: Flows) -> None:
        ends = np.stack([flows.src, flows.dst]).astype(np.int64)
        many = len(flows.endpoints)
        way = (flows.path.astype(np.int64) * many + ends[0]) * many + ends[1]
        ways, inverse = np.unique(way, return_inverse=True)
        octets = _sums(inverse, flows.octets * np.maximum(flows.sampling_rate, 1), len(ways))
        trouble = {name: _sums(inverse, getattr(flows, name), len(ways)) for name in self.trouble}
        for i, one in enumerate(ways.tolist()):
            rest, dst = divmod(one, many)
            path, src = divmod(rest, many)
            via = flows.paths[path] or _attached(topology, flows.endpoints[src], flows.endpoints[dst])
            for at, switch in enumerate(via):
                self.octets_in[switch] += octets[i] if at > 0 or len(via) == 1 else 0
                self.octets_out[switch] += octets[i] if at < len(via) - 1 or len(via) == 1 else 0
            for link in pairwise(via) if flows.paths[path] else ():
                self.links[link] += octets[i]
            for name, count in trouble.items():
                if via and count[i]:
                    self.trouble[name][via[0]] += count[i]


def _sums(place: NDArray[np.intp], values: NDArray[np.int64], many: int) -> list[int]:
    out = np.zeros(many, np.int64)
    np.add.at(out, place, values)
    return out.tolist()


def _attached(topology: Topology | None, src: str, dst: str) -> tuple[str, ...]:
    if topology is None:
        return ()
    return tuple(dict.fromkeys(leaf for leaf in (topology.leaf(src), topology.leaf(dst)) if leaf))


def _blamed(shown: Board) -> Mapping[tuple[str, ...], list[str]]:
    """Map the switch or link (sorted ends) that open cases name, as subject or as part to isolate, to their ids."""
    out: dict[tuple[str, ...], list[str]] = {}
    for one in shown.cases:
        if one.state == "open":
            for names in _parts(one):
                out.setdefault(names, []).append(one.id)
    return out


def _parts(one: Case) -> set[tuple[str, ...]]:
    found = one.finding
    named = {tuple(sorted(found.ids))} if found.subject == "link" else set()
    named |= {(name,) for name in found.ids} if found.subject == "switch" else set()
    return named | ({tuple(sorted(found.isolate.parts))} if found.isolate.parts else set())


def _jobs_at(shown: Board) -> Mapping[str, set[str]]:
    """Map switches to the jobs of their endpoints."""
    out: dict[str, set[str]] = {}
    for job in shown.jobs if shown.topology else ():
        for address in job.found.job.endpoints:
            leaf = shown.topology.leaf(address) if shown.topology else None
            if leaf:
                out.setdefault(leaf, set()).add(job.id)
    return out


def pair_rows(records: Records, pair: tuple[str, str], times: tuple[int, int], limit: int) -> list[Json]:
    """Return the first records from one endpoint to the other that start in [start, end), at most `limit`."""
    ask = 2 * limit  # records of both directions come
    while True:
        flows = records.between(*times, endpoints=pair, limit=ask)
        code = {address: i for i, address in enumerate(flows.endpoints)}
        src, dst = (code.get(address, -1) for address in pair)
        rows = np.flatnonzero((flows.src == src) & (flows.dst == dst))[:limit]
        if len(rows) == limit or len(flows) < ask:
            return flow_rows(flows.take(rows))
        ask *= 4


COUNTS = ("dst_qp", "job_id", "octets", "packets", "messages", "retransmits", "ecn", "cnp", "sampling_rate")


def flow_rows(flows: Flows) -> list[Json]:
    """Convert flow records to one dict each."""
    counts = {name: getattr(flows, name).tolist() for name in ("src_port", "dst_port", "protocol", *COUNTS)}
    times = zip(flows.start_ns.tolist(), flows.end_ns.tolist(), flows.src.tolist(), flows.dst.tolist(), strict=True)
    exporter, path = flows.exporter.tolist(), flows.path.tolist()
    return [
        {
            "start_ns": ns(start),
            "end_ns": ns(end),
            "src": flows.endpoints[src],
            "dst": flows.endpoints[dst],
            **{name: values[i] for name, values in counts.items()},
            "exporter": flows.exporters[exporter[i]] if flows.exporters else None,
            "path": list(flows.paths[path[i]]),
        }
        for i, (start, end, src, dst) in enumerate(times)
    ]
