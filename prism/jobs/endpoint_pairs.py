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

from collectors.columns.record import COLUMNS, Codes, Flows, Ints
from prism.evidence.member_graphs import connected
from prism.jobs import constants
from prism.loops.arrays.group_sums import counted, numbered
from prism.loops.arrays.pair_volumes import summed
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
    records, first, last, octets = summed(number, len(at), flows.start_ns, flows.end_ns, flows.octets)
    records -= np.bincount(number[flows.octets == 0], minlength=len(at))
    return Pairs(flows.src[at], flows.dst[at], octets, records, first, last, tuple(flows.endpoints))


def parts(pairs: Pairs, topology: Topology | None = None) -> tuple[NDArray[np.intp], ...]:
    """Split endpoints into independent parts, largest first. Endpoints in no part belong to no job.

    Returns the endpoint codes of each part. Without a topology, clusters of one job may only have their rhythm in common: all
    recurrent endpoints form one part.
    """
    n = len(pairs.endpoints)
    known = np.array([topology is None or address in topology.endpoints for address in pairs.endpoints], np.bool_)
    joins = (pairs.records >= constants.MIN_STEPS) & (pairs.src != pairs.dst) & known[pairs.src] & known[pairs.dst]
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
    label = connected(size, links)
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
    one, other, is_shared = label.take(flows.src), label.take(flows.dst), np.zeros(len(part_codes) + 1, np.bool_)
    first, differ = np.minimum(one, other), one != other
    is_shared[one[differ]] = is_shared[other[differ]] = True
    del one, other, differ
    if is_shared[:-1].any():
        flows, first = _twice(flows, label.take(flows.src), label.take(flows.dst), len(part_codes))
    order, begins = counted(first, len(part_codes) + 1, np.arange(len(first)))
    place = np.empty_like(order)  # to read a column in order and write to a few parts takes a fifth of the time of the reverse
    place[order] = np.arange(len(order))
    del first, order
    code, names = np.arange(len(flows.endpoints), dtype=np.int32), [tuple(flows.endpoints)] * len(part_codes)
    for i in np.flatnonzero(~is_shared[:-1]).tolist():
        code[part_codes[i]] = np.arange(len(part_codes[i]), dtype=np.int32)
        names[i] = tuple(flows.endpoints[member] for member in part_codes[i].tolist())
    columns: dict[str, Any] = {c.name: getattr(flows, c.name) for c in COLUMNS}
    more: dict[str, Any] = {"exporters": flows.exporters, "paths": flows.paths}
    del flows
    columns |= {"src": code.take(columns["src"]), "dst": code.take(columns["dst"])}
    for name in columns:
        column = columns[name]
        if column.strides != (0,):
            columns[name] = np.empty_like(column)
            columns[name][place] = column
    for i, (low, high) in enumerate(pairwise(begins[:-1].tolist())):
        part = {name: column[low:high] for name, column in columns.items()}
        yield Flows(**part, **more, endpoints=names[i]).narrowed()


def _twice(flows: Flows, src: Codes, dst: Codes, parts: int) -> tuple[Flows, Codes]:
    """Duplicate records between two of the parts, and return the part of each record."""
    first, second = np.minimum(src, dst), np.maximum(src, dst)
    both = (first != second) & (second < parts)
    rows = np.repeat(np.arange(len(flows)), 1 + both)
    part = first.take(rows)
    part[1:][rows[1:] == rows[:-1]] = second[both]
    return flows.take(rows), part
