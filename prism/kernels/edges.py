"""Directed pairs of endpoints and the records each carried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Flows
from prism.kernels.intervals import Ints, Union, active, weighted_median
from prism.kernels.ordered import in_order, median, rising
from prism.kernels.sums import counted, numbered

Rows = NDArray[np.intp]
Pair = tuple[int, ...]  # sender, receiver, and the lane where lanes are told apart


def flipped(key: Pair) -> Pair:
    """The other direction of a pair's lane."""
    return key[1], key[0], *key[2:]


def ends(key: Pair) -> set[int]:
    """The two endpoints of a pair."""
    return {key[0], key[1]}


@dataclass(frozen=True, eq=False)
class Edge:
    """The records of one directed pair, in order of start; `rows` are their places in the flows they came from."""

    src: int
    dst: int
    rows: Rows
    start: Ints
    end: Ints
    octets: Ints
    lane: int | None = None

    @cached_property
    def key(self) -> Pair:
        """Sender and receiver, codes, and the lane if there is one."""
        return (self.src, self.dst) if self.lane is None else (self.src, self.dst, self.lane)

    @property
    def moved(self) -> tuple[Ints, Ints, Ints]:
        """Start, end and octets of its records."""
        return self.start, self.end, self.octets

    @cached_property
    def volume(self) -> int:
        """All octets."""
        return int(self.octets.sum())

    @cached_property
    def _pace_ns(self) -> float:
        return weighted_median(self.end - self.start, self.octets)

    def pace_ns(self) -> float:
        """How long a typical octet's record lasted: what counts as no gap at this edge's own scale."""
        return self._pace_ns

    @cached_property
    def _activity(self) -> Union:
        return active(self.start, self.end, self.octets)

    def activity(self) -> Union:
        """When the edge was busy, closing gaps no longer than a quarter of its typical record."""
        return self._activity


def sending(flows: Flows) -> Ints:
    """When the first octet of each record was sent, ns: a burst's first packet is stamped when all of it had come."""
    return flows.sent_ns


def edges_of(flows: Flows, rows: Rows | None = None, lane: Ints | None = None) -> dict[Pair, Edge]:
    """The directed pairs among the given rows of `flows` (all by default), each with its records.

    With `lane`, the lane of each of the rows (kernels.lanes), every lane is a pair of its own.
    """
    rows = np.arange(len(flows)) if rows is None else rows
    start = sending(flows)[rows]
    order = in_order(start)
    src, dst = flows.src[rows], flows.dst[rows]
    number, at = numbered(src, dst if lane is None else lane << 32 | dst)
    ends = src[at], dst[at], np.zeros(len(at), np.int64) if lane is None else lane[at]
    by = np.lexsort(ends[::-1])
    place = np.empty(len(by), np.int32)
    place[by] = np.arange(len(by), dtype=np.int32)
    order, begins = counted(place[number], len(at), order)
    rows, start = rows.take(order), start.take(order)
    end, octets = flows.end_ns.take(rows), flows.octets.take(rows)
    volumes = np.add.reduceat(octets, begins[:-1]).tolist() if len(at) else []
    edges: dict[Pair, Edge] = {}
    columns = zip(*(column[by].tolist() for column in ends), pairwise(begins.tolist()), volumes, strict=True)
    for one, other, on, (a, b), volume in columns:
        edge = Edge(one, other, rows[a:b], start[a:b], end[a:b], octets[a:b], None if lane is None else on)
        vars(edge)["volume"] = volume  # sooner summed up for all
        edges[edge.key] = edge
    return edges


def spread(edge: Edge, life: tuple[int, int], *, bins: int = 20) -> float:
    """Over how many of `bins` equal parts of `life` an edge's octets are spread: the inverse of their summed squared shares."""
    return _spread(edge.start, edge.octets, *life, bins)


@compiled
def _spread(start: Ints, octets: Ints, low: int, high: int, bins: int) -> float:
    part, total = np.zeros(bins, np.int64), 0
    for i in range(len(start)):
        place = (start[i] - low) * bins // max(high - low, 1)
        part[min(max(place, 0), bins - 1)] += octets[i]
        total += octets[i]
    squares = 0.0
    for moved in part:
        squares += (moved / max(total, 1)) ** 2
    return 1 / max(squares, 1e-12)


def recurring(edges: Mapping[Pair, Edge], *, least: int = 3, share: float = 0.25) -> dict[Pair, Edge]:
    """Edges whose traffic comes back all through the life of their ends, unlike a broadcast, a checkpoint or a copy.

    At least `least` records, and spread at least `share` as wide as the heaviest edge at either end, in its life.
    """
    heaviest: dict[int, Edge] = {}
    for edge in edges.values():
        for end in (edge.src, edge.dst):
            if end not in heaviest or heaviest[end].volume < edge.volume:
                heaviest[end] = edge
    known: dict[Pair, tuple[tuple[int, int], float]] = {}
    out = {}
    for key, edge in edges.items():
        first, second = heaviest[key[0]], heaviest[key[1]]
        model = first if first.volume <= second.volume else second
        if model.key not in known:
            life = int(model.start[0]), int(model.end.max())
            known[model.key] = life, spread(model, life)
        life, width = known[model.key]
        if len(edge.rows) >= least and spread(edge, life) >= max(share * width, 1.5):
            out[key] = edge
    return out


def ahead(there: Edge, back: Edge, rests: Ints) -> bool:
    """Whether `there` goes first: what it has moved more than `back` is least when the step ends, at `rests`, ns.

    Activations in flight pile up in the pipeline and are answered by gradients before the step ends. Whatever part of a
    step a capture began with cancels out. Without rests, whoever moved its octets earlier on the whole.
    """
    return bool(_ahead(there.end, there.octets, back.end, back.octets, rests))


@compiled
def _ahead(there: Ints, gave: Ints, back: Ints, got: Ints, rests: Ints) -> bool:
    """`ahead`, of when records ended and what they moved, there and back."""
    times, n = np.concatenate((there, back)), len(there)
    order, volumes = rising(times), (max(gave.sum(), 1), max(got.sum(), 1))
    level, grown, whole = np.empty(len(times)), 0.0, 0.0
    for i in range(len(times)):
        k = order[i]
        grown += gave[k] / volumes[0] if k < n else -got[k - n] / volumes[1]
        level[i] = grown
        whole += grown
    if not len(rests):
        return whole >= 0
    ordered, calm = times[order], np.empty(len(rests))
    for i in range(len(rests)):
        at = np.searchsorted(ordered, rests[i], "right") - 1
        calm[i] = level[at] if at >= 0 else 0.0
    usual, least = median(level), median(calm)
    return usual > least or (usual == least and whole >= 0)


def at_once(there: Edge, back: Edge, *, near: float = 0.8, far: float = 5.0) -> bool:
    """Whether two directions of a pair send at the same time, though not all the while: an exchange, no hand-over.

    What one hands over is answered when it has come and has been worked on. In an exchange most records begin within `near`
    typical records of one the other way, and hardly any further than `far`.
    """
    pace = max(there.pace_ns(), back.pace_ns(), 1.0)
    starts = np.sort(back.start)
    at = np.clip(np.searchsorted(starts, there.start), 1, max(len(starts) - 1, 1))
    apart = np.minimum(np.abs(starts[np.minimum(at, len(starts) - 1)] - there.start), np.abs(there.start - starts[at - 1]))
    return bool(np.median(apart) < near * pace and np.percentile(apart, 90) < far * pace)
