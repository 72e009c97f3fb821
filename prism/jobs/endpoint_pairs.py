"""Sum flows by pair of endpoints, and split a cluster into independent parts.

Two endpoints can belong to one job only if a chain of recurrent pairs or of shared hosts joins them. So the cluster falls into
parts that can be analysed independently, on any machine.
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
from prism.jobs import constants
from prism.loops.arrays.group_sums import counted, numbered
from prism.topology import Topology


@dataclass(frozen=True, eq=False)
class Pairs:
    """Directed pairs of endpoints, each once, in any order: octets, records with octets, first start and last end, ns."""

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
        """First start and last end of the records, ns; (0, 1) if there are none."""
        return (int(self.first_ns.min()), int(self.last_ns.max())) if len(self) else (0, 1)


def pairs_of(flows: Flows) -> Pairs:
    """Sum flow records by directed pair."""
    number, at = numbered(flows.src, flows.dst)
    summed = _summed(number, len(at), flows.start_ns, flows.end_ns, flows.octets)
    return Pairs(flows.src[at], flows.dst[at], *summed, tuple(flows.endpoints))


@compiled
def _summed(number: Codes, n: int, start: Ints, end: Ints, octets: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Sum octets and records with octets, and find the first start and the last end, of each of n pairs."""
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
    """Split endpoints into independent parts, largest first. Endpoints in no part belong to no job.

    Without a topology, clusters of one job may only have their rhythm in common: all recurrent endpoints form one part.

    Parameters
    ----------
    pairs : Pairs
        Octets and records by pair.
    topology : Topology, optional
        Hosts of the endpoints.

    Returns
    -------
    tuple of intp[n]
        Endpoint codes of each part.
    """
    n = len(pairs.endpoints)
    known = np.array([topology is None or address in topology.endpoints for address in pairs.endpoints], np.bool_)
    joins = (pairs.records >= constants.RECURRENT_RECORDS) & (pairs.src != pairs.dst) & known[pairs.src] & known[pairs.dst]
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


def split_by_part(flows: Flows, part_codes: Sequence[NDArray[np.intp]]) -> Iterator[Flows]:
    """Yield the records of each part, in order, as `jobs.around` does for a job: those with one end in it.

    The records are sorted by part once. Release `flows` while iterating, so that they are not in memory twice.
    """
    if len(part_codes) == 1 and len(part_codes[0]) == len(flows.endpoints):
        yield flows.narrowed()
        return
    if not part_codes:
        return
    label = np.full(len(flows.endpoints), len(part_codes), np.int32)
    for i, members in enumerate(part_codes):
        label[members] = i
    first, is_shared = _first_parts(label, len(part_codes) + 1, flows.src, flows.dst)
    if is_shared[:-1].any():
        flows, first = _twice(flows, label.take(flows.src), label.take(flows.dst), len(part_codes))
    place, begins = _places(first, len(part_codes) + 1)
    del first
    code, names = np.arange(len(flows.endpoints), dtype=np.int32), [tuple(flows.endpoints)] * len(part_codes)
    for i in np.flatnonzero(~is_shared[:-1]).tolist():
        code[part_codes[i]] = np.arange(len(part_codes[i]), dtype=np.int32)
        names[i] = tuple(flows.endpoints[member] for member in part_codes[i].tolist())
    columns: dict[str, Any] = {c.name: getattr(flows, c.name) for c in COLUMNS}
    more: dict[str, Any] = {"exporters": flows.exporters, "paths": flows.paths}
    del flows
    columns |= {"src": code.take(columns["src"]), "dst": code.take(columns["dst"])}
    for name in columns:
        columns[name] = _reordered(columns[name], place)
    for i, (low, high) in enumerate(pairwise(begins[:-1].tolist())):
        part = {name: column[low:high] for name, column in columns.items()}
        yield Flows(**part, **more, endpoints=names[i]).narrowed()


@compiled
def _first_parts(label: Codes, n: int, src: Codes, dst: Codes) -> tuple[Codes, NDArray[np.bool_]]:
    """For each record, find the lower part (0 … n − 1) of its ends; and mark parts whose records name endpoints of other
    parts.
    """
    out, is_shared = np.empty(len(src), np.int32), np.zeros(n, np.bool_)
    for i in range(len(src)):
        one, other = label[np.uint64(src[i])], label[np.uint64(dst[i])]
        out[i] = min(one, other)
        if one != other:
            is_shared[one] = is_shared[other] = True
    return out, is_shared


def _twice(flows: Flows, src: Codes, dst: Codes, parts: int) -> tuple[Flows, Codes]:
    """Duplicate records between two of the parts, and return the part of each record."""
    first, second = np.minimum(src, dst), np.maximum(src, dst)
    both = (first != second) & (second < parts)
    rows = np.repeat(np.arange(len(flows)), 1 + both)
    part = first.take(rows)
    part[1:][rows[1:] == rows[:-1]] = second[both]
    return flows.take(rows), part


@compiled
def _places(part: Codes, n: int) -> tuple[Codes, NDArray[np.intp]]:
    """Compute the place of each record if records are sorted by part (0 … n − 1), and where each part begins; [n + 1]."""
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


def _reordered(column: NDArray[Any], place: Codes) -> NDArray[Any]:
    """Return the column's values, each at its place."""
    return column if column.strides == (0,) else _scatter(np.ascontiguousarray(column), place)


@compiled
def _scatter(column: NDArray[Any], place: Codes) -> NDArray[Any]:
    out = np.empty_like(column)
    for i in range(len(column)):
        out[np.uint64(place[i])] = column[i]
    return out
