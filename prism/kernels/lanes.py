"""Which connections of a pair carry the same conversation.

Every communicator has connections of its own, so what one connection carries is of one kind; one conversation may ride on
several (channels, several queue pairs), and gets new ones after a restart. Connections of a pair that move about as much in
about as many records at the same times are one lane; so are those that follow one another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import compress, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.record import Flows, Mask
from prism.kernels.intervals import Ints, union
from prism.kernels.sums import counted, numbered, spans, totals

Rows = NDArray[np.intp]


class _Line(NamedTuple):
    """One direction of one connection; `port` joins the directions of a TCP connection, 0 where nothing does.

    `parts` are its messages, records where nobody counted those: a record may be several that followed upon one another.
    """

    low: bool  # from the lower endpoint to the higher
    port: int
    first: int
    last: int
    octets: int
    parts: int
    rows: Rows

    def like(self, other: _Line, tolerance: float) -> bool:
        """Whether two lines moved about as much in about as many parts."""
        a = abs(float(np.log((self.octets + 1) / (other.octets + 1))))
        return a <= tolerance and abs(float(np.log(self.parts / other.parts))) <= tolerance


def lanes(flows: Flows, rows: Rows, *, tolerance: float = 0.25, most: int = 64) -> Ints:
    """The lane of each of the given rows within its pair, counted from 0; the same number in both directions.

    A pair of more than `most` connections, as clients of storage have, is one lane, as is one without ports or queue pairs.
    """
    out, start = np.zeros(len(rows), np.int64), flows.start_ns[rows]
    for lines in _by_pair(flows, rows, most):
        for number, lane in enumerate(_joined(lines, tolerance, start)):
            for line in lane:
                out[line.rows] = number
    return out


def renewals(flows: Flows, rows: Rows, *, most: int = 8, least: float = 1e-3) -> Ints:
    """Times, ns, from which on all of the given rows are on other connections than before: a job begins anew then.

    More than `most` of them are no restarts but a habit. Connections that carry less than `least` of what the heaviest one does
    only belong to what follows: ranks find one another over such. None without ports or queue pairs.
    """
    ports = flows.src_port[rows].astype(np.int64), flows.dst_port[rows].astype(np.int64)
    queue = flows.dst_qp[rows].astype(np.int64)
    if not len(rows) or not (queue.any() or ports[0].any() or ports[1].any()):
        return np.zeros(0, np.int64)
    entropy = queue.all()  # the source port of RoCEv2
    pair = flows.src[rows].astype(np.int64) << 32 | flows.dst[rows]
    number, at = numbered(pair, queue << 32 | ports[1] << 16 | (0 if entropy else ports[0]))
    first, last = np.full(len(at), np.iinfo(np.int64).max), np.zeros(len(at), np.int64)
    spans(number, flows.start_ns[rows], flows.end_ns[rows], first, last)
    moved = np.zeros(len(at), np.int64)
    totals(number, flows.octets[rows], moved)
    heavy = moved >= least * moved.max()
    begins, ends = union(first[heavy], last[heavy])
    every = union(first, last)[0]
    between = np.searchsorted(ends, every)
    anew = every[(between > 0) & (every <= np.append(begins, begins[:1])[between])]
    return anew if len(begins) - 1 <= most else anew[:0]


def _by_pair(flows: Flows, rows: Rows, most: int) -> list[list[_Line]]:
    """The lines of every pair that has several of a direction, up to `most`; `rows` in them are places in `rows`."""
    src, dst = flows.src[rows].astype(np.int64), flows.dst[rows].astype(np.int64)
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    there = src == low
    ports = flows.src_port[rows].astype(np.int64), flows.dst_port[rows].astype(np.int64)
    queue = flows.dst_qp[rows].astype(np.int64)
    port = np.where(there, ports[0] << 16 | ports[1], ports[1] << 16 | ports[0])
    port = np.where(queue > 0, 0, port)  # the source port of RoCEv2 is entropy
    number, at = numbered(low << 32 | high, port << 32 | queue << 1 | there)
    by = np.lexsort((queue[at], port[at], there[at], high[at], low[at]))
    asked = _several(low[at[by]] << 32 | high[at[by]], there[at[by]], most)
    if not asked.any():
        return []
    place = np.empty(len(by), np.int32)
    place[by] = np.arange(len(by), dtype=np.int32)
    number, at = place[number], at[by]
    order, begins = counted(number, len(at), np.arange(len(rows)))
    moved, messages = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
    first, last = np.full(len(at), np.iinfo(np.int64).max), np.zeros(len(at), np.int64)
    spans(number, flows.start_ns[rows], flows.end_ns[rows], first, last)
    totals(number, flows.octets[rows], moved)
    totals(number, flows.messages[rows], messages)
    parts = np.where(messages > 0, messages, np.diff(begins))
    pairs: dict[tuple[int, int], list[_Line]] = defaultdict(list)
    columns = zip(*(c.tolist() for c in (low[at], high[at], there[at], port[at], first, last, moved, parts)), strict=True)
    known = zip(columns, pairwise(begins.tolist()), strict=True)
    for (one, other, way, own, begin, end, octets, many), (a, b) in compress(known, asked):
        pairs[one, other].append(_Line(way, own, begin, end, octets, many, order[a:b]))
    return list(pairs.values())


def _several(pair: Ints, there: Mask, most: int) -> Mask:
    """Which lines, in order of pair, are of pairs that have several of a direction, but no more than `most` in all."""
    _, place, lines = np.unique(pair, return_inverse=True, return_counts=True)
    lower = np.bincount(place, there, len(lines))
    asked = (np.maximum(lower, lines - lower) > 1) & (lines <= most)
    return np.asarray(asked[place], dtype=np.bool_)


def _joined(lines: list[_Line], tolerance: float, start: Ints) -> list[list[_Line]]:
    """Lines as lanes, the heaviest first. After a restart lanes go on in the order of how fast they move."""
    lanes: list[list[_Line]] = []
    for epoch in _epochs(lines):
        own: list[list[_Line]] = []
        for line in sorted(epoch, key=lambda one: -one.octets):
            for lane in own:
                if _belongs(line, lane, tolerance, start):
                    lane.append(line)
                    break
            else:
                own.append([line])
        for number, lane in enumerate(own):
            if number < len(lanes):
                lanes[number] += lane
            else:
                lanes.append(lane)
    return lanes


def _epochs(lines: list[_Line]) -> Iterator[list[_Line]]:
    """Lines that lived at one time."""
    epoch: list[_Line] = []
    for line in sorted(lines, key=lambda one: one.first):
        if epoch and line.first >= max(other.last for other in epoch):
            yield epoch
            epoch = []
        epoch.append(line)
    yield epoch


def _belongs(line: _Line, lane: list[_Line], tolerance: float, start: Ints) -> bool:
    if line.port and any(line.port == other.port for other in lane):
        return True
    like = (other for other in lane if (not line.port or line.low == other.low) and line.like(other, tolerance))
    return any(line.low != other.low or _at_once(start[line.rows], start[other.rows]) for other in like)


def _at_once(one: Ints, other: Ints) -> bool:
    """Whether most records of two lines begin no further from one of the other line than records usually follow one another.

    Conversations of about the same volume have their own times in a step.
    """
    one, other = np.sort(one), np.sort(other)
    life = float(max(one[-1], other[-1]) - min(one[0], other[0]))
    return all(_distance(a, b) * len(a) <= life for a, b in ((one, other), (other, one)))


def _distance(times: Ints, others: Ints) -> float:
    """The median distance of some times to the nearest of others, both ascending, ns."""
    at = np.searchsorted(others, times)
    after, before = others[np.minimum(at, len(others) - 1)], others[np.maximum(at - 1, 0)]
    return float(np.median(np.minimum(np.abs(after - times), np.abs(times - before))))
