"""Messages that follow upon one another without a pause, as one record: far fewer records say the same of a busy job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Flows, Ints
from prism.kernels.intervals import ascending
from prism.kernels.sums import counted

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]

SUMS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp", "busy_ns")


@dataclass(frozen=True, eq=False)
class Bursts:
    """`flows`, one record per burst; `of` (int32[n]) is the burst of each record that they were made of."""

    flows: Flows
    of: NDArray[np.int32]

    @cached_property
    def _records(self) -> tuple[Rows, Rows]:
        return counted(self.of, len(self.flows), np.arange(len(self.of)))

    def records(self, bursts: Rows) -> Rows:
        """The places of the records of some bursts, burst by burst."""
        order, begins = self._records
        size = begins[bursts + 1] - begins[bursts]
        shift = begins[bursts] - np.concatenate([[0], np.cumsum(size)[:-1]]) if len(bursts) else size
        return order[np.repeat(shift, size) + np.arange(int(size.sum()))]


def bursts(flows: Flows, *, most: int = 8, near: float = 0.0, parts: int = 1) -> Bursts:
    """The same payload in fewer records: up to `most` of one connection and path that touch, in time, are one.

    Of a connection with more than `parts` records those are one, too, that are no further apart than `near` times the usual
    record of the burst, and as many as make about so many bursts of it. Sums stay what they were; small messages, and records
    of a single instant, stay records of their own. The order is that of the first of each burst.
    """
    number, count = _connections(flows)
    limit = np.maximum(most, -(-count // parts)) if near else np.full(len(count), most)
    burst, told = _told(flows, number, limit, np.where(count > parts, near, 0.0))
    del number
    first = told[:, _FIRST].copy()
    columns: dict[str, Any] = {name: told[:, _SUMS + i].copy() for i, name in enumerate(SUMS) if flows.holds(name)}
    if near and "busy_ns" not in columns:
        columns["busy_ns"] = np.where(told[:, _SIZE] > 1, told[:, _BUSY], 0)
    columns |= {"end_ns": told[:, _END].copy(), "tcp_flags": told[:, _FLAGS].astype(np.uint8)}
    del told
    without: dict[str, Any] = {name: np.broadcast_to(column[:1], len(flows)) for name, column in columns.items()}
    return Bursts(replace(replace(flows, **without).take(first), **columns), burst)


def _connections(flows: Flows, room: int = 1 << 15) -> tuple[NDArray[np.int32], Ints]:
    """The number of each record's connection, counted from 0 as they appear; and how many records each has."""
    while True:
        number, count, n = _numbered(flows.src, flows.dst, flows.src_port, flows.dst_port, flows.dst_qp, room)
        if n >= 0:
            return number, count[:n]
        room *= 4


@compiled
def _numbered(
    src: NDArray[Any], dst: NDArray[Any], src_port: NDArray[Any], dst_port: NDArray[Any], dst_qp: NDArray[Any], room: int
) -> tuple[NDArray[np.int32], Ints, int]:
    """The number of each record's connection, how many records each has, and how many there are: −1 where that is more than
    `room`, a power of 2.
    """
    table = np.full((4 * room, 2), 0, np.uint64)
    known = np.full(4 * room, -1, np.int32)
    mask, n = np.uint64(4 * room - 1), 0
    number, count = np.empty(len(src), np.int32), np.zeros(room, np.int64)
    for i in range(len(src)):
        ends = np.uint64(src[i]) << np.uint64(32) | np.uint64(dst[i])
        ports = np.uint64(dst_qp[i]) << np.uint64(32) | np.uint64(src_port[i]) << np.uint64(16) | np.uint64(dst_port[i])
        mixed = ends * np.uint64(0x9E3779B97F4A7C15) ^ ports * np.uint64(0xC2B2AE3D27D4EB4F)
        at = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(33) & mask
        while known[at] >= 0 and (table[at, 0] != ends or table[at, 1] != ports):
            at = (at + np.uint64(1)) & mask
        if known[at] < 0:
            if n == room:
                return number, count, -1
            table[at, 0], table[at, 1], known[at] = ends, ports, n
            n += 1
        number[i] = known[at]
        count[known[at]] += 1
    return number, count, n


_FIRST, _END, _FLAGS, _SIZE, _BUSY, _SUMS = range(6)  # what is told of a burst; then the sums, in the order of `SUMS`


def _told(
    flows: Flows, number: NDArray[np.int32], limit: Ints, near: Floats, *, at_once: int = 1 << 18
) -> tuple[NDArray[np.int32], Ints]:
    """The burst of each record, and what is told of each: its first record, its end, its flags, how many records it has, for
    how long one of them was under way, and its sums; int64[bursts, 5 + sums].

    `number` is the connection of each record, `limit` how many records a burst of each connection may have, `near` how many
    times the mean length of its records they may be apart.
    """
    rows = np.zeros(0, np.intp) if ascending(flows.start_ns) else np.argsort(flows.start_ns, kind="stable")
    columns: Any = tuple(getattr(flows, name) for name in ("start_ns", "end_ns", "path", "tcp_flags", *SUMS))
    burst = np.empty(len(flows), np.int32)
    last = np.full((len(limit), 5), -1, np.int64)
    told, n = np.empty((len(flows) // 8 + at_once, _SUMS + len(SUMS)), np.int64), 0
    for low in range(0, len(flows), at_once):
        if n + at_once > len(told):
            told, less = np.empty((2 * len(told), told.shape[1]), np.int64), told
            told[:n] = less[:n]
        part = low, min(low + at_once, len(flows))
        n = _burst(part, rows, number, limit, near, burst, last, told, n, *columns)
    return burst, told[:n]


@compiled
def _burst(
    part: tuple[int, int],
    rows: Rows,
    number: NDArray[np.int32],
    limit: Ints,
    near: Floats,
    burst: NDArray[np.int32],
    last: Ints,
    told: Ints,
    n: int,
    starts: Ints,
    ends: Ints,
    paths: NDArray[Any],
    flags: NDArray[Any],
    octets: Ints,
    packets: Ints,
    messages: Ints,
    retransmits: Ints,
    ecn: Ints,
    cnp: Ints,
    busy: Ints,
) -> int:
    """Fills `burst` and `told` of a `part` of the records, in the order of `rows` (as they are without any), of which there are
    `n` bursts before; returns how many there are with it.

    `last` is of each connection the last burst, then of its last record the end, the path and whether it may join others, and
    how long the records of that burst were.
    """
    for place in range(part[0], part[1]):
        i = np.uint64(rows[place] if len(rows) else place)
        k, start, end = np.uint64(number[i]), starts[i], ends[i]
        parts = messages[i] if messages[i] > 0 else packets[i]
        plain = end > start and octets[i] > 256 * parts and octets[i] != 0
        b = last[k, 0]
        size = told[np.uint64(b), _SIZE] if b >= 0 else 0
        joins = b >= 0 and plain and last[k, 3] > 0 and size < limit[k] and paths[i] == last[k, 2]
        if joins and (start - last[k, 1]) * size <= near[k] * last[k, 4]:
            at = np.uint64(b)
            told[at, _BUSY] += max(end - max(start, told[at, _END]), 0)
            told[at, _END] = max(told[at, _END], end)
            told[at, _FLAGS] |= flags[i]
            told[at, _SIZE] += 1
            last[k, 4] += end - start
        else:
            at = np.uint64(n)
            told[at, _FIRST], told[at, _END], told[at, _FLAGS] = i, max(end, 0), flags[i]
            told[at, _SIZE], told[at, _BUSY] = 1, end - start
            told[at, _SUMS:] = 0
            last[k, 0], last[k, 2], last[k, 4] = n, paths[i], end - start
            n += 1
        burst[i] = at
        last[k, 1], last[k, 3] = end, plain
        told[at, _SUMS] += octets[i]
        told[at, _SUMS + 1] += packets[i]
        told[at, _SUMS + 2] += messages[i]
        told[at, _SUMS + 3] += retransmits[i]
        told[at, _SUMS + 4] += ecn[i]
        told[at, _SUMS + 5] += cnp[i]
        told[at, _SUMS + 6] += busy[i]
    return n
