"""Merge consecutive messages into bursts: far fewer records hold the same information about a busy job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows, Ints
from collectors.compilation.compiled import compiled
from prism.loops import constants as c
from prism.loops.arrays.group_sums import counted
from prism.loops.arrays.orders import ascending

Rows = NDArray[np.intp]
Numbers = NDArray[np.uint16] | NDArray[np.int32]
LastBursts = NDArray[np.void]

SUMS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp", "busy_ns")

SHORT = np.iinfo(np.uint16).max + 1  # connections whose numbers fit into 16 bits
_LAST_BURST = np.dtype(  # of a connection: fields that a record updates are adjacent in memory
    [
        ("last_ns", np.int64),  # end of its last record
        ("end_ns", np.int64),
        ("long_ns", np.int64),  # total length of its records
        ("busy_ns", np.int64),  # time in which at least one of them was active; 0 for a single one
        ("near", np.float64),  # largest gap to the next one, in units of their mean length
        ("limit", np.int32),  # maximum number of records
        ("size", np.int32),  # number of records
        ("number", np.int32),  # −1 if there is none yet
        ("path", np.int32),  # path of its last record; −1 if it merges with no other
        ("flags", np.uint8),
    ],
    align=True,
)


class _Told(NamedTuple):
    """Results for each burst; columns that were not requested are empty."""

    first: Rows  # its first record
    end_ns: Ints
    size: NDArray[np.int32]
    busy_ns: Ints
    flags: NDArray[np.uint8]
    sums: tuple[Ints, ...]  # sums of some columns


@dataclass(frozen=True, eq=False)
class Bursts:
    """`flows` with one record per burst; `of` (int32[n], or empty) is the burst of each original record."""

    flows: Flows
    of: NDArray[np.int32]

    @cached_property
    def _records(self) -> tuple[Rows, Rows]:
        return counted(self.of, len(self.flows), np.arange(len(self.of)))

    def records(self, bursts: Rows) -> Rows:
        """Rows of the records of some bursts, burst by burst."""
        order, begins = self._records
        size = begins[bursts + 1] - begins[bursts]
        shift = begins[bursts] - np.concatenate([[0], np.cumsum(size)[:-1]]) if len(bursts) else size
        return order[np.repeat(shift, size) + np.arange(int(size.sum()))]


def bursts(flows: Flows, *, most: int = c.BURST, near: float = 0.0, parts: int = 1, of: bool = True) -> Bursts:
    """Merge payload records: up to `most` adjacent or overlapping records of one connection and path become one.

    If a connection has more than `parts` such bursts, records no farther apart than `near` times the usual record of the burst
    are merged, too, to about `parts` bursts. Sums do not change. Small messages, and records without duration, stay separate.
    The order is that of the first record of each burst. Without `of`, less memory is needed.
    """
    number, count = _connections(flows)
    share = -(-count // parts)
    known = _lines(len(count))
    known["number"], known["path"] = -1, -1
    known["limit"] = np.maximum(most, share) if near else most
    known["near"] = np.where(share >= most, near, 0.0)
    held = [name for name in SUMS[1:] if flows.holds(name)]
    same = [name for name in held if getattr(flows, name).strides == (0,)]
    summed = [SUMS[0], *(name for name in held if name not in same)]
    timed = bool(near) and "busy_ns" not in held
    flagged = flows.holds("tcp_flags") and flows.tcp_flags.strides != (0,)  # flags that all records have are those of bursts
    burst, told = _told(flows, number, known, summed, timed=timed, counted=bool(same), flagged=flagged, of=of)
    del number
    columns: dict[str, Any] = {"end_ns": told.end_ns} | dict(zip(summed, told.sums, strict=True))
    columns |= {name: told.size * getattr(flows, name)[0] for name in same}
    columns |= ({"busy_ns": told.busy_ns} if timed else {}) | ({"tcp_flags": told.flags} if flagged else {})
    without: dict[str, Any] = {name: np.broadcast_to(column[:1], len(flows)) for name, column in columns.items()}
    return Bursts(replace(replace(flows, **without).take(told.first), **columns), burst)


def _lines(n: int) -> LastBursts:
    """Allocate the last bursts of n connections, each in its own cache line (64 octets)."""
    octets = _LAST_BURST.itemsize
    room = np.zeros((n + 1) * octets, np.uint8)
    begin = -room.ctypes.data % octets
    return room[begin : begin + n * octets].view(_LAST_BURST)


def _connections(flows: Flows, room: int = SHORT) -> tuple[Numbers, Ints]:
    """Number the connection of each record from 0 in order of appearance; also return the records per connection."""
    while True:
        # As small as possible: allocating fresh memory takes longer than writing it.
        number: Numbers = np.empty(len(flows), np.uint16) if room <= SHORT else np.empty(len(flows), np.int32)
        count, n = _numbered(flows.src, flows.dst, flows.src_port, flows.dst_port, flows.dst_qp, number, room)
        if n >= 0:
            return number, count[:n]
        room *= 4


@compiled
def _numbered(
    src: NDArray[Any],
    dst: NDArray[Any],
    src_port: NDArray[Any],
    dst_port: NDArray[Any],
    dst_qp: NDArray[Any],
    number: Numbers,
    room: int,
) -> tuple[Ints, int]:
    """Write the connection of each record to `number`; return the records per connection, and the number of connections.

    The latter is −1 if it exceeds `room`, a power of 2. Only records that differ from the sender's previous one are looked up.
    """
    known = np.full(4 * room, -1, np.int32)
    keys = np.empty((room, 2), np.uint64)  # separate arrays: most of a table of keys would be idle in the cache
    keys[0] = ~np.uint64(0)  # no connection
    mask, n = np.uint64(4 * room - 1), 0
    # Last connection of a sender, or of one with the same hash.
    few = np.uint64(max(room // 4, 1) - 1)  # each sender has some connections, so a place of its own
    recent = np.zeros(np.int64(few) + 1, np.int32)
    count = np.zeros(room, np.int64)
    for i in range(len(src)):
        ends = np.uint64(src[i]) << np.uint64(32) | np.uint64(dst[i])
        ports = np.uint64(dst_qp[i]) << np.uint64(32) | np.uint64(src_port[i]) << np.uint64(16) | np.uint64(dst_port[i])
        k = recent[np.uint64(src[i]) & few]
        if keys[np.uint64(k), 0] != ends or keys[np.uint64(k), 1] != ports:
            mixed = ends * np.uint64(0x9E3779B97F4A7C15) ^ ports * np.uint64(0xC2B2AE3D27D4EB4F)
            at = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(33) & mask
            k = known[at]
            while k >= 0 and (keys[np.uint64(k), 0] != ends or keys[np.uint64(k), 1] != ports):
                at = (at + np.uint64(1)) & mask
                k = known[at]
            if k < 0:
                if n == room:
                    return count, -1
                k = known[at] = n
                keys[n, 0], keys[n, 1] = ends, ports
                n += 1
            recent[np.uint64(src[i]) & few] = k
        number[i] = k
        count[np.uint64(k)] += 1
    return count, n


def _told(
    flows: Flows,
    number: Numbers,
    known: LastBursts,
    summed: Sequence[str],
    *,
    timed: bool,
    counted: bool,
    flagged: bool,
    of: bool,
) -> tuple[NDArray[np.int32], _Told]:
    """Return the burst of each record (if `of`), and the results for each burst.

    `number`: connection of each record. `known`: limits of the bursts of each connection. `summed`: columns to sum. `timed`,
    `counted`, `flagged`: request active time, number of records, and flags.
    """
    rows = np.zeros(0, np.intp) if ascending(flows.start_ns) else np.argsort(flows.start_ns, kind="stable")
    burst = np.empty(len(flows) if of else 0, np.int32)
    columns: Any = tuple(np.ascontiguousarray(getattr(flows, name)) for name in summed)
    flags = flows.tcp_flags if flagged else np.zeros(0, np.uint8)
    main = (getattr(flows, name) for name in ("start_ns", "end_ns", "path", "octets", "packets", "messages"))
    room = len(flows) + 97  # no power of 2; unwritten memory is not allocated
    told = _Told(
        first=np.empty(room, np.int64),
        end_ns=np.empty(room, np.int64),
        size=np.empty(room if counted else 0, np.int32),
        busy_ns=np.empty(room if timed else 0, np.int64),
        flags=np.empty(room if flagged else 0, np.uint8),
        sums=tuple(np.empty(room, np.int64) for _ in columns),
    )
    n = _burst(rows, number, known, np.empty((len(known), len(columns)), np.int64), burst, told, flags, columns, *main)
    columns = tuple(column[:n] for column in told.sums)
    return burst, _Told(told.first[:n], told.end_ns[:n], told.size[:n], told.busy_ns[:n], told.flags[:n], columns)


@compiled
def _burst(
    rows: Rows,
    number: Numbers,
    known: LastBursts,
    sums: Ints,
    burst: NDArray[np.int32],
    told: _Told,
    flags: NDArray[np.uint8],
    columns: tuple[Ints, ...],
    starts: Ints,
    ends: Ints,
    paths: NDArray[Any],
    octets: Ints,
    packets: Ints,
    messages: Ints,
) -> int:
    """Fill `burst`, if it has room, and the requested columns of `told`, from the records in order of `rows` (or all); return
    the number of bursts.

    `known`: last burst of each connection. `sums` (int64[connections, columns]): sums of the `columns` in these.
    """
    n = 0
    for place in range(len(number)):
        i = np.uint64(rows[place] if len(rows) else place)
        k, start, end = np.uint64(number[i]), starts[i], ends[i]
        own = known[k]
        parts = messages[i] if messages[i] > 0 else packets[i]
        plain = end > start and octets[i] > 256 * parts and octets[i] != 0
        size, long = own.size, own.long_ns
        joins = plain and paths[i] == own.path and size < own.limit
        if joins and (start - own.last_ns) * size <= own.near * long:
            if len(told.busy_ns):
                own.busy_ns = (long if size == 1 else own.busy_ns) + max(end - max(start, own.end_ns), 0)
            if len(flags):
                own.flags |= flags[i]
            own.end_ns, own.size, own.long_ns = max(own.end_ns, end), size + 1, long + end - start
            for column in range(len(columns)):
                sums[k, column] += columns[column][i]
        else:
            if own.number >= 0:
                _tell(own, sums[k], told)
            told.first[np.uint64(n)] = i
            own.number, own.end_ns, own.size, own.long_ns, own.busy_ns = n, max(end, 0), 1, end - start, 0
            own.flags = flags[i] if len(flags) else 0
            for column in range(len(columns)):
                sums[k, column] = columns[column][i]
            n += 1
        if len(burst):
            burst[i] = own.number
        own.last_ns, own.path = end, paths[i] if plain else -1
    for last in range(len(known)):
        _tell(known[last], sums[last], told)
    return n


@compiled
def _tell(own: Any, sums: Ints, told: _Told) -> None:
    """Write a finished burst to the results."""
    at = np.uint64(own.number)
    told.end_ns[at] = own.end_ns
    if len(told.size):
        told.size[at] = own.size
    if len(told.busy_ns):
        told.busy_ns[at] = own.busy_ns
    if len(told.flags):
        told.flags[at] = own.flags
    for column in range(len(told.sums)):
        told.sums[column][at] = sums[column]
