"""Group the connections of a pair into lanes: connections that carry the same conversation.

Every communicator has its own connections, so one connection carries one kind of traffic. One conversation may use several
(channels, several queue pairs), and gets new ones after a restart. Connections of a pair with similar octets, numbers of
records and times form one lane; so do those that follow one another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import compress, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Mask
from prism.loops import constants as c
from prism.loops.arrays.group_sums import counted, numbered
from prism.loops.arrays.intervals import Ints, union
from prism.loops.arrays.pair_volumes import summed

Rows = NDArray[np.intp]


class _Line(NamedTuple):
    """One direction of one connection; `port` joins both directions of a TCP connection, 0 if unknown.

    `parts`: its messages, or its records if messages were not counted: a record may hold several consecutive ones.
    """

    low: bool  # from the lower to the higher endpoint
    port: int
    first: int
    last: int
    octets: int
    parts: int
    rows: Rows

    def like(self, other: _Line, tolerance: float) -> bool:
        """Check whether two lines moved similar octets in similar numbers of parts."""
        a = abs(float(np.log((self.octets + 1) / (other.octets + 1))))
        return a <= tolerance and abs(float(np.log(self.parts / other.parts))) <= tolerance


class Connections(NamedTuple):
    """Connection (one direction) of each of some `rows`, numbered in order of appearance, and first row of each (`at`)."""

    rows: Rows
    number: NDArray[np.int32]
    at: Rows


def connections(flows: Flows, rows: Rows) -> Connections:
    """Number the connections of the given rows. If all have queue pairs, the source port is ignored: in RoCEv2 it is
    entropy.
    """
    src, dst, port, queue = (side.take(rows) for side in (flows.src, flows.dst, flows.dst_port, flows.dst_qp))
    line = queue.astype(np.int64) << 32 | port.astype(np.int64) << 16
    if not queue.all():
        line |= flows.src_port.take(rows)
    return Connections(rows, *numbered(src.astype(np.int64) << 32 | dst, line))


def lanes(flows: Flows, known: Connections, *, tolerance: float = c.ALIKE, most: int = c.MOST_CONNECTIONS) -> Ints:
    """Number the lane of each row within its pair from 0, from its connection; equal numbers in both directions.

    A pair with more than `most` connections (storage clients), or without ports and queue pairs, is one lane.
    """
    out = np.zeros(len(known.rows), np.int64)
    if several := _by_pair(flows, known, most):
        start = flows.start_ns[known.rows]
        for lines in several:
            for number, lane in enumerate(_joined(lines, tolerance, start)):
                for line in lane:
                    out[line.rows] = number
    return out


def renewals(flows: Flows, known: Connections, *, most: int = c.MOST_RESTARTS, least: float = c.RENDEZVOUS) -> Ints:
    """Return times, ns, from which all rows use other connections than before: the job restarted.

    More than `most` such times are no restarts. Connections with less than `least` of the octets of the heaviest one belong to
    the following ones: ranks use them to find each other. Empty without ports or queue pairs.
    """
    rows, number, at = known
    if not any(bool(column[rows[at]].any()) for column in (flows.dst_qp, flows.src_port, flows.dst_port)):
        return np.zeros(0, np.int64)
    _, first, last, moved = summed(number, len(at), flows.start_ns.take(rows), flows.end_ns.take(rows), flows.octets.take(rows))
    heavy = moved >= least * moved.max()
    begins, ends = union(first[heavy], last[heavy])
    every = union(first, last)[0]
    between = np.searchsorted(ends, every)
    anew = every[(between > 0) & (every <= np.append(begins, begins[:1])[between])]
    return anew if len(begins) - 1 <= most else anew[:0]


def _by_pair(flows: Flows, known: Connections, most: int) -> list[list[_Line]]:
    """Collect the lines of every pair with several lines per direction, up to `most`; their `rows` index the `known` rows."""
    rows, at = known.rows, known.rows[known.at]
    src, dst = flows.src[at].astype(np.int64), flows.dst[at].astype(np.int64)
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    there = src == low
    ports = flows.src_port[at].astype(np.int64), flows.dst_port[at].astype(np.int64)
    queue = flows.dst_qp[at].astype(np.int64)
    port = np.where(there, ports[0] << 16 | ports[1], ports[1] << 16 | ports[0])
    port = np.where(queue > 0, 0, port)  # the source port of RoCEv2 is entropy
    line, one = numbered(low << 32 | high, port << 32 | queue << 1 | there)
    by = one[np.lexsort((queue[one], port[one], there[one], high[one], low[one]))]
    low, high, there, port = low[by], high[by], there[by], port[by]
    asked = _several(low << 32 | high, there, most)
    if not asked.any():
        return []
    place = np.empty(len(by), np.int32)
    place[line[by]] = np.arange(len(by), dtype=np.int32)
    number = place[line].take(known.number)
    order, begins = counted(number, len(by), np.arange(len(rows)))
    _, first, last, moved = summed(number, len(by), flows.start_ns[rows], flows.end_ns[rows], flows.octets[rows])
    messages = np.bincount(number, flows.messages[rows], len(by)).astype(np.int64)
    parts = np.where(messages > 0, messages, np.diff(begins))
    pairs: dict[tuple[int, int], list[_Line]] = defaultdict(list)
    columns = zip(*(column.tolist() for column in (low, high, there, port, first, last, moved, parts)), strict=True)
    known_lines = zip(columns, pairwise(begins.tolist()), strict=True)
    for (lower, higher, way, own, begin, end, octets, many), (a, b) in compress(known_lines, asked):
        pairs[lower, higher].append(_Line(way, own, begin, end, octets, many, order[a:b]))
    return list(pairs.values())


def _several(pair: Ints, there: Mask, most: int) -> Mask:
    """Select lines, in order of pair, of pairs with several lines per direction but at most `most` in total."""
    _, place, lines = np.unique(pair, return_inverse=True, return_counts=True)
    lower = np.bincount(place, there, len(lines))
    asked = (np.maximum(lower, lines - lower) > 1) & (lines <= most)
    return np.asarray(asked[place], dtype=np.bool_)


def _joined(lines: list[_Line], tolerance: float, start: Ints) -> list[list[_Line]]:
    """Group lines into lanes, the heaviest first. After a restart lanes continue in order of speed."""
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
    """Yield lines that existed at the same time."""
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
    """Check whether most records of two lines begin no farther from one of the other line than the usual distance of records.

    Conversations of similar volume have different times in a step.
    """
    one, other = np.sort(one), np.sort(other)
    life = float(max(one[-1], other[-1]) - min(one[0], other[0]))
    return all(_distance(a, b) * len(a) <= life for a, b in ((one, other), (other, one)))


def _distance(times: Ints, others: Ints) -> float:
    """Median distance of some times to the nearest of others, both ascending, ns."""
    at = np.searchsorted(others, times)
    after, before = others[np.minimum(at, len(others) - 1)], others[np.maximum(at - 1, 0)]
    return float(np.median(np.minimum(np.abs(after - times), np.abs(times - before))))
