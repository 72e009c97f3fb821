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


def bursts(flows: Flows, *, most: int = 8) -> Bursts:
    """The same payload in fewer records: up to `most` of one connection and path that touch, in time, are one.

    Sums stay what they were; small messages, and records of a single instant, stay records of their own. The order is that of
    the first of each burst.
    """
    plain = ~flows.control() & (flows.end_ns > flows.start_ns)
    ends = flows.src.astype(np.int64) << 32 | flows.dst
    number, first = numbered(ends, flows.dst_qp.astype(np.int64) << 32 | flows.src_port.astype(np.int64) << 16 | flows.dst_port)
    start, rows = flows.start_ns, np.arange(len(flows))
    rows = rows if np.all(start[1:] >= start[:-1]) else np.argsort(start, kind="stable")
    burst, at = _burst(rows, number, len(first), start, flows.end_ns, flows.path, plain, most)
    sums: dict[str, Any] = {}
    for name in (name for name in SUMS if getattr(flows, name).any()):
        sums[name] = np.zeros(len(at), np.int64)
        totals(burst, getattr(flows, name), sums[name])
    end, flags = _last(burst, flows.end_ns, flows.tcp_flags, len(at))
    return Bursts(replace(flows.take(at), end_ns=end, tcp_flags=flags, **sums), burst)


@compiled
def _burst(
    rows: Rows, number: NDArray[Any], n: int, start: Ints, end: Ints, path: NDArray[Any], plain: NDArray[Any], most: int
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The burst of each record, looked at in the order of `rows`, and each burst's first; each is of one of `n` connections."""
    burst = np.empty(len(number), np.int32)
    last = np.full(n, -1, np.intp)  # by connection: its last record
    size = np.zeros(n, np.int64)
    at = np.empty(len(number), np.intp)
    count = 0
    for i in rows:
        k = number[i]
        j = last[k]
        if j >= 0 and plain[i] and plain[j] and size[k] < most and start[i] <= end[j] and path[i] == path[j]:
            burst[i] = burst[j]
            size[k] += 1
        else:
            burst[i], at[count] = count, i
            size[k] = 1
            count += 1
        last[k] = i
    return burst, at[:count]


@compiled
def _last(burst: NDArray[np.int32], end: Ints, flags: NDArray[np.uint8], n: int) -> tuple[Ints, NDArray[np.uint8]]:
    """When the last record of each burst ended, and the flags of all of them."""
    latest, every = np.zeros(n, np.int64), np.zeros(n, np.uint8)
    for i in range(len(burst)):
        k = burst[i]
        latest[k] = max(latest[k], end[i])
        every[k] |= flags[i]
    return latest, every
