"""Messages that follow upon one another without a pause, as one record: far fewer records say the same of a busy job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Flows, Ints
from prism.kernels.sums import counted, numbered, totals

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
    plain = ~flows.control() & (flows.end_ns > flows.start_ns)
    ends = flows.src.astype(np.int64) << 32 | flows.dst
    number, first = numbered(ends, flows.dst_qp.astype(np.int64) << 32 | flows.src_port.astype(np.int64) << 16 | flows.dst_port)
    start, rows = flows.start_ns, np.arange(len(flows))
    rows = rows if np.all(start[1:] >= start[:-1]) else np.argsort(start, kind="stable")
    count = np.bincount(number, minlength=len(first))
    limit = np.maximum(most, -(-count // parts)) if near else np.full(len(first), most)
    burst, at = _burst(rows, number, limit, start, flows.end_ns, flows.path, plain, np.where(count > parts, near, 0.0))
    sums: dict[str, Any] = {}
    for name in (name for name in SUMS if flows.holds(name)):
        sums[name] = np.zeros(len(at), np.int64)
        totals(burst, getattr(flows, name), sums[name])
    if near and not flows.holds("busy_ns"):
        sums["busy_ns"] = _busy(rows, burst, start, flows.end_ns, len(at))
    end, flags = _last(burst, flows.end_ns, flows.tcp_flags, len(at))
    return Bursts(replace(flows.take(at), end_ns=end, tcp_flags=flags, **sums), burst)


@compiled
def _burst(
    rows: Rows, number: NDArray[Any], limit: Ints, start: Ints, end: Ints, path: NDArray[Any], plain: NDArray[Any], near: Floats
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The burst of each record, looked at in the order of `rows`, and each burst's first.

    `number` is the connection of each record, `limit` how many records a burst of each connection may have, `near` how many
    times the mean length of its records they may be apart.
    """
    burst = np.empty(len(number), np.int32)
    last = np.full(len(limit), -1, np.intp)  # by connection: its last record
    size, length = np.zeros(len(limit), np.int64), np.zeros(len(limit), np.int64)  # of its last burst: records, their length
    at = np.empty(len(number), np.intp)
    count = 0
    for i in rows:
        k = number[i]
        j = last[k]
        joins = j >= 0 and plain[i] and plain[j] and size[k] < limit[k] and path[i] == path[j]
        if joins and (start[i] - end[j]) * size[k] <= near[k] * length[k]:
            burst[i] = burst[j]
            size[k] += 1
        else:
            burst[i], at[count] = count, i
            size[k], length[k] = 1, 0
            count += 1
        length[k] += end[i] - start[i]
        last[k] = i
    return burst, at[:count]


@compiled
def _busy(rows: Rows, burst: NDArray[np.int32], start: Ints, end: Ints, n: int) -> Ints:
    """For how long one of the records of each burst was under way; 0, unknown, for those of one record."""
    busy, first, until = np.zeros(n, np.int64), np.full(n, -1, np.intp), np.zeros(n, np.int64)
    for i in rows:
        k = burst[i]
        if first[k] < 0:
            first[k] = i
        else:
            if busy[k] == 0:
                busy[k] = until[k] - start[first[k]]
            busy[k] += max(end[i] - max(start[i], until[k]), 0)
        until[k] = max(until[k], end[i])
    return busy


@compiled
def _last(burst: NDArray[np.int32], end: Ints, flags: NDArray[np.uint8], n: int) -> tuple[Ints, NDArray[np.uint8]]:
    """When the last record of each burst ended, and the flags of all of them."""
    latest, every = np.zeros(n, np.int64), np.zeros(n, np.uint8)
    for i in range(len(burst)):
        k = burst[i]
        latest[k] = max(latest[k], end[i])
        every[k] |= flags[i]
    return latest, every
