"""Pairs of endpoints with what they moved, as a database sums them up, and the parts of a cluster that have nothing in common.

Two endpoints may be of one job only if a chain of pairs that keep moving something, or of shared hosts, leads from one to the
other. So a cluster falls into parts, and what is told of one part does not depend on the others: each can be analysed alone,
on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from collectors.columns.record import COLUMNS, Codes, Flows, Ints
from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import counted, numbered
from prism.topology import Topology

LEAST = 3  # records by which a pair may be said to keep moving something: `edges.recurring`


@dataclass(frozen=True, eq=False)
class Pairs:
    """Directed pairs of endpoints, in any order, each once: octets, records that have some, first start and last end, ns."""

    src: Codes
    dst: Codes
    octets: Ints
    records: Ints
    first_ns: Ints
    last_ns: Ints
    endpoints: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.src)

    @property
    def window(self) -> tuple[int, int]:
        """When the first record starts and the last ends, ns; (0, 1) without any."""
        return (int(self.first_ns.min()), int(self.last_ns.max())) if len(self) else (0, 1)


def pairs_of(flows: Flows) -> Pairs:
    """The pairs of flows in memory."""
    number, at = numbered(flows.src, flows.dst)
    summed = _summed(number, len(at), flows.start_ns, flows.end_ns, flows.octets)
    return Pairs(flows.src[at], flows.dst[at], *summed, tuple(flows.endpoints))


@compiled
def _summed(number: Codes, n: int, start: Ints, end: Ints, octets: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """What each of n pairs moved, how many of its records have octets, the least start and the greatest end."""
    moved, records, last = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    first = np.full(n, np.iinfo(np.int64).max)
    for i in range(len(number)):
        k = np.uint64(number[i])
        moved[k] += octets[i]
        records[k] += octets[i] > 0
        first[k] = min(first[k], start[i])
        last[k] = max(last[k], end[i])
    return moved, records, first, last


def parts(pairs: Pairs, topology: Topology | None = None) -> tuple[NDArray[np.intp], ...]:
    """The codes of the endpoints of each part, those with most octets first. What is in no part is in no job.

    Without a topology, clusters of one job may have nothing in common but their beat: all that keeps moving is one part.
    """
    n = len(pairs.endpoints)
    known = np.array([topology is None or address in topology.endpoints for address in pairs.endpoints], np.bool_)
    joins = (pairs.records >= LEAST) & (pairs.src != pairs.dst) & known[pairs.src] & known[pairs.dst]
    if topology is None:
        one = np.unique(np.concatenate([pairs.src[joins], pairs.dst[joins]])).astype(np.intp)
        return (one,) if len(one) else ()
    hosts: dict[str, int] = {}
    at = [
        (code, n + hosts.setdefault(host, len(hosts)))
        for code, address in enumerate(pairs.endpoints)
        if (host := topology.host(address)) is not None
    ]
    links = np.concatenate([np.stack([pairs.src[joins], pairs.dst[joins]], axis=1), np.array(at, np.int32).reshape(-1, 2)])
    size = n + len(hosts)
    graph = coo_array((np.ones(len(links), np.bool_), (links[:, 0], links[:, 1])), shape=(size, size))
    label = connected_components(graph, directed=False)[1]
    moved = np.bincount(label[pairs.src[joins]], weights=pairs.octets[joins], minlength=size)
    members, begins = counted(label[:n], size, np.arange(n))
    order = np.argsort(-moved, kind="stable")
    return tuple(members[begins[k] : begins[k + 1]] for k in order[: np.count_nonzero(moved)].tolist())


def divided(flows: Flows, own: Sequence[NDArray[np.intp]]) -> Iterator[Flows]:
    """The records around each of some parts, as `jobs.around` a job: with an end in it, in the same order.

    The records are laid out part by part once. Who does not hold on to `flows` meanwhile, needs no memory for them twice.
    """
    if len(own) == 1 and len(own[0]) == len(flows.endpoints):
        yield flows.narrowed()
        return
    if not own:
        return
    label = np.full(len(flows.endpoints), len(own), np.int32)
    for i, members in enumerate(own):
        label[members] = i
    first, mixed = _firsts(label, len(own) + 1, flows.src, flows.dst)
    if mixed[:-1].any():
        flows, first = _twice(flows, label.take(flows.src), label.take(flows.dst), len(own))
    place, begins = _places(first, len(own) + 1)
    del first
    code, names = np.arange(len(flows.endpoints), dtype=np.int32), [tuple(flows.endpoints)] * len(own)
    for i in np.flatnonzero(~mixed[:-1]).tolist():
        code[own[i]] = np.arange(len(own[i]), dtype=np.int32)
        names[i] = tuple(flows.endpoints[member] for member in own[i].tolist())
    columns: dict[str, Any] = {c.name: getattr(flows, c.name) for c in COLUMNS}
    more: dict[str, Any] = {"exporters": flows.exporters, "paths": flows.paths}
    del flows
    columns |= {"src": code.take(columns["src"]), "dst": code.take(columns["dst"])}
    for name in columns:
        columns[name] = _laid(columns[name], place)
    for i, (low, high) in enumerate(pairwise(begins[:-1].tolist())):
        part = {name: column[low:high] for name, column in columns.items()}
        yield Flows(**part, **more, endpoints=names[i]).narrowed()


@compiled
def _firsts(label: Codes, n: int, src: Codes, dst: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """The first of the parts (0 … n − 1) at each record's ends, and which parts have records that name others' endpoints."""
    out, mixed = np.empty(len(src), np.int32), np.zeros(n, np.bool_)
    for i in range(len(src)):
        one, other = label[np.uint64(src[i])], label[np.uint64(dst[i])]
        out[i] = min(one, other)
        if one != other:
            mixed[one] = mixed[other] = True
    return out, mixed


def _twice(flows: Flows, src: Codes, dst: Codes, parts: int) -> tuple[Flows, Codes]:
    """The records, those between two of the parts twice, and the part of each; the parts of their ends are given."""
    first, second = np.minimum(src, dst), np.maximum(src, dst)
    both = (first != second) & (second < parts)
    rows = np.repeat(np.arange(len(flows)), 1 + both)
    part = first.take(rows)
    part[1:][rows[1:] == rows[:-1]] = second[both]
    return flows.take(rows), part


@compiled
def _places(part: Codes, n: int) -> tuple[Codes, NDArray[np.intp]]:
    """The place of each record where records lie part by part (0 … n − 1), in order; and where each part begins, n + 1."""
    begins = np.zeros(n + 1, np.intp)
    for k in part:
        begins[np.uint64(k) + np.uint64(1)] += 1
    for k in range(n):
        begins[k + 1] += begins[k]
    at, out = begins.copy(), np.empty(len(part), np.int32)
    for i in range(len(part)):
        k = np.uint64(part[i])
        out[i] = at[k]
        at[k] += 1
    return out, begins


def _laid(column: NDArray[Any], place: Codes) -> NDArray[Any]:
    """The values of a column, each at its place."""
    return column if column.strides == (0,) else _laid_out(np.ascontiguousarray(column), place)


@compiled
def _laid_out(column: NDArray[Any], place: Codes) -> NDArray[Any]:
    out = np.empty_like(column)
    for i in range(len(column)):
        out[np.uint64(place[i])] = column[i]
    return out
