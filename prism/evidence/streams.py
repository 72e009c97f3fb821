"""Group the messages of one directed pair of endpoints into streams.

RDMA: a record is a message. Messages of one size that recur throughout the job are one stream and can be counted; messages of
varying size (experts) are one stream per pair. TCP, and sums of several messages: a record is a burst. A stream is one
conversation: the connections of a pair with similar bursts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.evidence import constants as c
from prism.evidence.member_graphs import Pair, connected
from prism.loops.arrays.group_sums import by_group, numbered_pairs
from prism.loops.arrays.intervals import weighted_median
from prism.steps.constants import ONE_SIZE

Ints = NDArray[np.int64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Stream:
    """Messages from `src` to `dst` (indices of the job's endpoints). Times in ns from the job's first record.

    `equal`: all have one size, so they can be counted. `bursts`: records are bursts or sums, not messages.
    """

    src: int
    dst: int
    rows: Rows  # indices in the flows
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    octets: NDArray[np.float64]
    equal: bool
    bursts: bool

    @cached_property
    def pair(self) -> tuple[int, int]:
        """Sender and receiver."""
        return self.src, self.dst

    @cached_property
    def volume(self) -> float:
        """Total octets."""
        return float(self.octets.sum())

    @cached_property
    def size(self) -> float:
        """Size of the message with the median octet."""
        return weighted_median(self.octets, self.octets)


class Streams(tuple[Stream, ...]):
    """Streams of a job."""

    @cached_property
    def records(self) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Rows, start, end and octets of the records of all streams, stream by stream."""
        rows, *times, octets = (np.concatenate([getattr(s, name) for s in self]) for name in ("rows", "start", "end", "octets"))
        return rows, times[0], times[1], octets

    @cached_property
    def begins(self) -> Ints:
        """First record of each stream, and the end of the last; int64[streams + 1]."""
        return np.cumsum([0, *(len(s.rows) for s in self)])


@dataclass(frozen=True, eq=False)
class _Table:
    """Payload records between members, in order of pair, then of time."""

    pair: Ints
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    octets: NDArray[np.float64]
    lane: Ints  # connection or queue pair
    bursts: NDArray[np.bool_]
    rows: Rows


def streams_of(flows: Flows, members: tuple[str, ...], *, origin: int) -> Streams:
    """Find all streams with payload between members; times count from `origin`, ns."""
    table = _table(flows, members, origin)
    out: list[Stream] = []
    n = len(members)
    begins = np.flatnonzero(np.diff(table.pair, prepend=-1))
    ends = np.append(begins, len(table.pair))[1:]
    bursts = 2 * np.diff(np.append(0, np.cumsum(table.bursts))[np.append(begins, len(table.pair))]) > ends - begins
    renewed = np.maximum.reduceat(table.lane, begins) > np.minimum.reduceat(table.lane, begins) if len(begins) else bursts
    for pair, low, high, summed, several in zip(
        *(column.tolist() for column in (table.pair[begins], begins, ends, bursts, renewed)), strict=True
    ):
        parts: Iterable[tuple[Rows | slice, bool]] = [(slice(low, high), False)]
        if several or not summed:
            parts = (_by_connection if summed else _by_turn_and_size)(table, np.arange(low, high))
        for part, equal in parts:
            own = (table.rows[part], table.start[part], table.end[part], table.octets[part])
            out.append(Stream(pair // n, pair % n, *own, equal, bool(table.bursts[part][0])))
    return Streams(out)


def _table(flows: Flows, members: tuple[str, ...], origin: int) -> _Table:
    place = np.full(len(flows.endpoints), -1, np.int32)
    code = {address: i for i, address in enumerate(flows.endpoints)}
    for i, address in enumerate(members):
        if address in code:
            place[code[address]] = i
    inside = (place.take(flows.src) >= 0) & (place.take(flows.dst) >= 0) & (flows.src != flows.dst)
    rows = np.flatnonzero(inside & ~flows.control())
    pairs, number = numbered_pairs(place.take(flows.src.take(rows)), place.take(flows.dst.take(rows)), len(members))
    sent = flows.sent_ns.take(rows)
    order, _ = by_group(number.astype(np.int32), len(pairs), sent)
    rows, pair, start = rows.take(order), pairs.take(number.take(order)), (sent.take(order) - origin).astype(np.float64)
    source, port = flows.src_port.take(rows).astype(np.int64), flows.dst_port.take(rows).astype(np.int64)
    queue = flows.dst_qp.take(rows).astype(np.int64)
    octets = flows.octets.take(rows).astype(np.float64)
    tcp = (queue == 0) & (source > 0)
    lane = np.where(tcp, source << 16 | port, queue)
    bursts = tcp | _summed(pair, octets, ((flows.messages > 1) | (flows.messages < 0)).take(rows))
    end = (flows.end_ns.take(rows) - origin).astype(np.float64)
    return _Table(pair, start, end, octets, lane, bursts, rows)


def _summed(pair: Ints, octets: NDArray[np.float64], several: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the records of pairs that hold most of their octets in records of several messages, which cannot be counted."""
    number = np.cumsum(np.diff(pair, prepend=pair[:1]) > 0)
    share = np.bincount(number, octets * several) / np.maximum(np.bincount(number, octets), 1.0)
    return (2 * share > 1).take(number)


def _lanes(table: _Table, rows: Rows) -> list[Rows]:
    """Split the records of a pair by connection or queue pair."""
    rows = rows[np.argsort(table.lane[rows], kind="stable")]
    return np.split(rows, np.flatnonzero(np.diff(table.lane[rows])) + 1)


def _by_connection(table: _Table, rows: Rows) -> Iterator[tuple[Rows, bool]]:
    """Group the connections of a pair: those with similar bursts, alternating or renewed, or with equal octets, the channels of
    one collective, are one conversation.
    """
    lanes = _lanes(table, rows)
    usual = [weighted_median(table.octets[own], table.octets[own]) for own in lanes]
    pairs = list[Pair]()
    for values, most in ((usual, float(np.log(c.ALIKE_BURSTS))), ([table.octets[own].sum() for own in lanes], c.EQUAL_VOLUME)):
        order, logarithms = np.argsort(values, kind="stable"), np.sort(np.log(values))
        near = np.flatnonzero(np.diff(logarithms) <= most)
        pairs += zip(order[near].tolist(), order[near + 1].tolist(), strict=True)
    part = connected(len(lanes), pairs)
    for number in np.unique(part).tolist():
        yield np.sort(np.concatenate([lanes[i] for i in np.flatnonzero(part == number).tolist()])), False


def _by_turn_and_size(table: _Table, rows: Rows) -> Iterator[tuple[Rows, bool]]:
    """Group queue pairs of a pair that alternate (as often, at the same times), then split each group by size."""
    lanes = _lanes(table, rows)
    if len(lanes) == 1:
        yield from _by_size(table, rows)
        return
    all_traits = [_traits(table, own) for own in lanes]
    taken = np.zeros(len(lanes), np.bool_)
    for i, traits in enumerate(all_traits):
        if not taken[i]:
            same = [k for k in range(i, len(lanes)) if not taken[k] and np.all(np.abs(traits - all_traits[k]) < c.ALIKE_LANES)]
            taken[same] = True
            yield from _by_size(table, np.sort(np.concatenate([lanes[k] for k in same])) if len(same) > 1 else lanes[i])


def _traits(table: _Table, rows: Rows) -> NDArray[np.float64]:
    middle = float(np.median(table.start[rows])) / max(float(table.end.max()), 1.0)
    return np.array([np.log(len(rows)), middle])


def _by_size(table: _Table, rows: Rows) -> Iterator[tuple[Rows, bool]]:
    """Yield a stream for each steady size, and one for each magnitude of the other sizes."""
    by_size = np.argsort(table.octets[rows], kind="stable")
    order, parts = rows[by_size], by_size * c.PARTS_OF_LIFE // len(rows)  # rows are in order of time
    octets = table.octets[order]
    begins = np.concatenate([[0], np.flatnonzero(octets[1:] > octets[:-1] * (1 + ONE_SIZE)) + 1, [len(octets)]])
    groups = [slice(int(low), int(high)) for low, high in pairwise(begins)]
    fixed = [k for k, own in enumerate(groups) if _is_steady(octets[own], parts[own], len(rows))]
    if sum(begins[k + 1] - begins[k] for k in fixed) < c.NEARLY_ALL * len(rows):
        fixed = [k for k in fixed if _is_distinct(octets, int(begins[k]), int(begins[k + 1]))]
        rest = np.ones(len(octets), np.bool_)
        for k in fixed:
            rest[begins[k] : begins[k + 1]] = False
        left = order[rest]
        jumps = np.flatnonzero(np.diff(np.log(table.octets[left])) > c.MAGNITUDE) + 1 if len(left) > 1 else np.zeros(0, int)
        for part in np.split(left, jumps) if len(left) > 1 else ():
            if len(part) > 1:
                yield np.sort(part), False
    for k in fixed:
        yield np.sort(order[begins[k] : begins[k + 1]]), True


def _is_steady(octets: NDArray[np.float64], parts: Ints, messages: int) -> bool:
    """Check whether messages of one size recur throughout the `messages` of a pair; `parts`: the part of it that has each."""
    if len(octets) < c.LEAST_MESSAGES or np.ptp(octets) > 2 * ONE_SIZE * octets.max():
        return False
    return messages < c.FEW_MESSAGES or len(np.unique(parts)) >= c.PARTS_OF_LIFE - 1


def _is_distinct(octets: NDArray[np.float64], low: int, high: int) -> bool:
    """Check whether no other size of the pair is near; `octets` ascend."""
    below = low == 0 or octets[low - 1] * c.NEAR_SIZE <= octets[low]
    above = high == len(octets) or octets[high] >= octets[high - 1] * c.NEAR_SIZE
    return bool(below and above)
