"""Group records by directed pair of endpoints."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Mask
from collectors.compilation.compiled import compiled
from prism.loops import constants as c
from prism.loops.arrays.group_sums import numbered
from prism.loops.arrays.intervals import Floats, Ints, Union, active
from prism.loops.arrays.orders import in_order
from prism.loops.arrays.pair_volumes import widths

Rows = NDArray[np.intp]
Pair = tuple[int, int]  # sender, receiver


def ends(key: Pair) -> set[int]:
    """Return the two endpoints of a pair."""
    return {key[0], key[1]}


class Columns(NamedTuple):
    """Records of directed pairs, pair by pair: row in the flows, start and end, ns, octets."""

    rows: Rows
    start: Ints
    end: Ints
    octets: Ints


@dataclass(slots=True, eq=False)
class Edge:
    """Records of one directed pair in order of start: rows `low` to before `high` of `of`; `volume`: total octets.

    Columns are sliced at access: there are many edges, and most columns are not needed.
    """

    src: int
    dst: int
    volume: int
    of: Columns
    low: int
    high: int
    _active: Union | None = None

    @property
    def key(self) -> Pair:
        """Sender and receiver codes."""
        return self.src, self.dst

    @property
    def rows(self) -> Rows:
        """Rows of its records in the flows."""
        return self.of.rows[self.low : self.high]

    @property
    def start(self) -> Ints:
        """Start of each record, ns."""
        return self.of.start[self.low : self.high]

    @property
    def end(self) -> Ints:
        """End of each record, ns."""
        return self.of.end[self.low : self.high]

    @property
    def octets(self) -> Ints:
        """Octets of each record."""
        return self.of.octets[self.low : self.high]

    @property
    def moved(self) -> tuple[Ints, Ints, Ints]:
        """Start, end and octets of its records."""
        return self.start, self.end, self.octets

    def activity(self) -> Union:
        """Intervals in which the edge is busy; gaps of at most a quarter of its typical record are closed."""
        if self._active is None:
            self._active = active(self.start, self.end, self.octets)
        return self._active

    def bursts(self) -> Floats:
        """Octets in each interval of its activity."""
        before = np.append(np.searchsorted(self.start, self.activity()[0]), self.high - self.low)
        sums = np.concatenate([[0], np.cumsum(self.octets)])
        return np.asarray(np.diff(sums[before]), np.float64)

    def only(self, kept: Mask) -> Edge:
        """Return the edge with a selection of its records."""
        return edge_from(self.key, self.rows[kept], self.start[kept], self.end[kept], self.octets[kept])


def edge_from(key: Pair, rows: Rows, start: Ints, end: Ints, octets: Ints) -> Edge:
    """Build an edge from records in order of start."""
    return Edge(*key, int(octets.sum()), Columns(rows, start, end, octets), 0, len(rows))


def laid_out(edges: Collection[Edge]) -> tuple[Columns, Ints, Ints]:
    """Concatenate the records of some edges, and return where those of each begin and end; no copy if they are contiguous."""
    every = {id(edge.of): edge.of for edge in edges}
    if len(every) == 1:
        (of,) = every.values()
        return of, np.array([edge.low for edge in edges], np.int64), np.array([edge.high for edge in edges], np.int64)
    none = Columns(*(np.zeros(0, np.int64) for _ in range(4)))
    columns = zip(*([none, *((edge.rows, *edge.moved) for edge in edges)]), strict=True)
    cuts = np.cumsum([0, *(edge.high - edge.low for edge in edges)])
    return Columns(*map(np.concatenate, columns)), cuts[:-1], cuts[1:]


def sending(flows: Flows) -> Ints:
    """Time at which the first octet of each record was sent, ns; the first packet of a burst is stamped at its end."""
    return flows.sent_ns


def edges_of(flows: Flows, rows: Rows | None = None) -> dict[Pair, Edge]:
    """Group the given rows of `flows` (all by default) by directed pair."""
    rows = np.arange(len(flows)) if rows is None else rows
    start, src, dst = sending(flows).take(rows), flows.src.take(rows), flows.dst.take(rows)
    number, at = numbered(src, dst)
    ends = src[at], dst[at]
    by = np.lexsort(ends[::-1])
    place = np.empty(len(by), np.int32)
    place[by] = np.arange(len(by), dtype=np.int32)
    *columns, begins, moved = _laid_out(place, number, in_order(start), rows, start, flows.end_ns, flows.octets)
    of, volumes, cuts = Columns(*columns), moved.tolist(), pairwise(begins.tolist())
    pairs = zip(*(column[by].tolist() for column in ends), cuts, volumes, strict=True)
    return {(one, other): Edge(one, other, volume, of, *cut) for one, other, cut, volume in pairs}


@compiled
def _laid_out(
    place: NDArray[np.int32], number: NDArray[np.int32], order: Rows, rows: Rows, start: Ints, end: Ints, octets: Ints
) -> tuple[Rows, Ints, Ints, Ints, Ints, Ints]:
    """Order records by pair (`place` of each pair's `number`), and by `order` within it.

    Returns rows, start, end, octets; begin of each pair and end of the last; octets per pair. `end` and `octets` are of all
    flows, the others of `rows`.
    """
    begins, moved = np.zeros(len(place) + 1, np.int64), np.zeros(len(place), np.int64)
    for k in number:
        begins[np.uint64(place[np.uint64(k)]) + np.uint64(1)] += 1
    for k in range(len(place)):
        begins[k + 1] += begins[k]
    at, n = begins.copy(), len(rows)
    out, starts, ends, sizes = np.empty(n, np.intp), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for i in order:
        k, row = np.uint64(place[np.uint64(number[np.uint64(i)])]), np.uint64(rows[np.uint64(i)])
        to = np.uint64(at[k])
        at[k] += 1
        out[to], starts[to], ends[to], sizes[to] = row, start[np.uint64(i)], end[row], octets[row]
        moved[k] += octets[row]
    return out, starts, ends, sizes, begins, moved


def spread(edge: Edge, life: tuple[int, int], *, bins: int = c.BINS) -> float:
    """Number of the `bins` equal parts of `life` over which an edge's octets spread: the inverse of their summed squared
    shares.
    """
    low, high = (np.array([moment]) for moment in life)
    return float(widths(np.zeros(len(edge.rows), np.int32), edge.start, edge.octets, low, high, bins)[0])
