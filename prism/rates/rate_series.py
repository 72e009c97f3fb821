"""Compute Gbit/s over time for endpoints, pairs, links and switches.

The octets of a record are spread evenly over its duration; sampled records are scaled up. Wrong for records with long pauses,
such as NetFlow with an active timeout: bins shorter than the timeout show the mean.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.topology import Topology

By = Literal["endpoint", "pair", "link", "switch"]
Way = Literal["out", "in", ""]
BYS: tuple[By, ...] = get_args(By)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Series:
    """Rates by name: `gbit_s` is float64[names, bins]. `ways`: direction at endpoints and switches, else empty."""

    names: tuple[str, ...]
    ways: tuple[Way, ...]
    gbit_s: Floats

    def largest(self, max_names: int) -> Series:
        """Select the `max_names` names with most octets, with both directions of each."""
        total: dict[str, float] = {}
        for name, own in zip(self.names, self.gbit_s.sum(axis=1).tolist(), strict=True):
            total[name] = max(total.get(name, 0.0), own)
        kept = sorted(total, key=lambda name: (-total[name], name))[:max_names]
        return self.of(kept)

    def of(self, names: Collection[str]) -> Series:
        """Select these names, in their order."""
        order = {name: i for i, name in enumerate(names)}
        rows = sorted((i for i, name in enumerate(self.names) if name in order), key=lambda i: (order[self.names[i]], i))
        picked = tuple(self.names[i] for i in rows), tuple(self.ways[i] for i in rows)
        return Series(*picked, self.gbit_s[np.array(rows, np.intp)])


def series(flows: Flows, topology: Topology | None, by: By, start_ns: int, end_ns: int, bins: int) -> Series:
    """Compute the rates of all names of a kind in [start_ns, end_ns), in `bins` bins."""
    rows, codes, names, ways = _KEYS[by](flows, topology)
    grid = spread(flows, rows, codes, len(names), start_ns, end_ns, bins)
    return Series(tuple(names), tuple(ways), grid * (8 * bins / max(end_ns - start_ns, 1)))


def spread(flows: Flows, rows: Ints, codes: Ints, codes_count: int, start_ns: int, end_ns: int, bins: int) -> Floats:
    """Spread octets by code and bin, float64[many, bins]: the records `rows` of `flows` count for `codes`."""
    out, inner = np.zeros((codes_count, bins)), np.zeros((codes_count, bins + 1))
    width = max(end_ns - start_ns, 1) / bins
    octets = (flows.octets[rows] * np.maximum(flows.sampling_rate[rows], 1)).astype(np.float64)
    begin, end = ((column[rows] - start_ns) / width for column in (flows.start_ns, flows.end_ns))
    end = np.maximum(end, begin + 1e-9)  # a record without duration lies in one bin
    density = octets / (end - begin)
    low, high = np.clip(begin, 0, bins), np.clip(end, 0, bins)
    seen = high > low
    low, high, density, codes = low[seen], high[seen], density[seen], codes[seen]
    first, last = np.minimum(low.astype(np.int64), bins - 1), np.minimum(np.ceil(high).astype(np.int64) - 1, bins - 1)
    one = first >= last
    np.add.at(out, (codes[one], first[one]), (high - low)[one] * density[one])
    few = ~one
    np.add.at(out, (codes[few], first[few]), (first + 1 - low)[few] * density[few])
    np.add.at(out, (codes[few], last[few]), (high - last)[few] * density[few])
    np.add.at(inner, (codes[few], first[few] + 1), density[few])
    np.add.at(inner, (codes[few], last[few]), -density[few])
    whole: Floats = np.maximum(out + np.cumsum(inner, axis=1)[:, :bins], 0.0)
    return whole


_Keys = tuple[Ints, Ints, list[str], list[Way]]


def _endpoints(flows: Flows, _topology: Topology | None) -> _Keys:
    many, every = len(flows.endpoints), np.arange(len(flows))
    codes = np.concatenate([flows.src.astype(np.int64), flows.dst.astype(np.int64) + many])
    ways: list[Way] = ["out" if i < many else "in" for i in range(2 * many)]
    return _used(np.tile(every, 2), codes, [*flows.endpoints, *flows.endpoints], ways)


def _pairs(flows: Flows, _topology: Topology | None) -> _Keys:
    many = len(flows.endpoints)
    pairs, codes = np.unique(flows.src.astype(np.int64) * many + flows.dst, return_inverse=True)
    names = [f"{flows.endpoints[one // many]}>{flows.endpoints[one % many]}" for one in pairs.tolist()]
    ways: list[Way] = [""] * len(names)
    return np.arange(len(flows)), codes.astype(np.int64), names, ways


def _links(flows: Flows, _topology: Topology | None) -> _Keys:
    """Key records that have a path by the links between switches, each direction."""
    names: dict[str, int] = {}
    parts = [
        (np.flatnonzero(flows.path == code), names.setdefault(f"{a}>{b}", len(names)))
        for code, way in enumerate(flows.paths)
        for a, b in pairwise(way)
    ]
    ways: list[Way] = [""] * len(names)
    return _joined(parts, list(names), ways)


def _switches(flows: Flows, topology: Topology | None) -> _Keys:
    """Key records by the switches of the path; without a path, by the leaves of their ends."""
    names: dict[tuple[str, Way], int] = {}
    many = len(flows.endpoints)
    way = (flows.path.astype(np.int64) * many + flows.src) * many + flows.dst
    ways, place = np.unique(way, return_inverse=True)
    order, begins = np.argsort(place, kind="stable"), np.searchsorted(np.sort(place), np.arange(len(ways) + 1))
    parts = []
    for i, one in enumerate(ways.tolist()):
        path, src, dst = one // many // many, one // many % many, one % many
        via = flows.paths[path] if path < len(flows.paths) else ()
        via = via or _attached(topology, flows.endpoints[src], flows.endpoints[dst])
        rows = order[begins[i] : begins[i + 1]]
        for at, switch in enumerate(via):
            if at > 0 or len(via) == 1:
                parts.append((rows, names.setdefault((switch, "in"), len(names))))
            if at < len(via) - 1 or len(via) == 1:
                parts.append((rows, names.setdefault((switch, "out"), len(names))))
    return _joined(parts, [name for name, _ in names], [to for _, to in names])


def _attached(topology: Topology | None, src: str, dst: str) -> tuple[str, ...]:
    leaves = [topology.leaf(src), topology.leaf(dst)] if topology is not None else []
    return tuple(dict.fromkeys(leaf for leaf in leaves if leaf))


def _joined(parts: list[tuple[Ints, int]], names: list[str], ways: list[Way]) -> _Keys:
    rows = np.concatenate([own for own, _ in parts]) if parts else np.zeros(0, np.int64)
    codes = np.repeat(np.array([code for _, code in parts], np.int64), [len(own) for own, _ in parts])
    return rows, codes, names, ways


def _used(rows: Ints, codes: Ints, names: list[str], ways: list[Way]) -> _Keys:
    """Remove names without records."""
    known, codes = np.unique(codes, return_inverse=True)
    return rows, codes.astype(np.int64), [names[i] for i in known], [ways[i] for i in known]


_KEYS = {"endpoint": _endpoints, "pair": _pairs, "link": _links, "switch": _switches}
