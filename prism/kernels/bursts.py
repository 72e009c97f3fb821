"""Messages that follow upon one another without a pause, as one record: far fewer records say the same of a busy job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Flows, Ints
from prism.kernels.ordered import ascending
from prism.kernels.sums import counted

Rows = NDArray[np.intp]
Floats = NDArray[np.float64]
Numbers = NDArray[np.uint16] | NDArray[np.int32]

SUMS = ("octets", "packets", "messages", "retransmits", "ecn", "cnp", "busy_ns")


@dataclass(frozen=True, eq=False)
class Bursts:
    """`flows`, one record per burst; `of` (int32[n], or none) is the burst of each record that they were made of."""

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


def bursts(flows: Flows, *, most: int = 8, near: float = 0.0, parts: int = 1, of: bool = True) -> Bursts:
    """The same payload in fewer records: up to `most` of one connection and path that touch, in time, are one.

    Of a connection of which `parts` such bursts do not hold all, those are one, too, that are no further apart than `near`
    times the usual record of the burst, as many as make about so many bursts of it. Sums stay what they were; small messages,
    and records of a single instant, stay records of their own. The order is that of the first of each burst. Whoever does not
    ask `of` which burst each record is, needs less memory.
    """
    number, count = _connections(flows)
    share = -(-count // parts)
    limit = np.maximum(most, share) if near else np.full(len(count), most)
    places = {name: _SUMS + i for i, name in enumerate(SUMS) if flows.holds(name)} | {"end_ns": _END}
    if near:
        places.setdefault("busy_ns", _BUSY)
    if flows.holds("tcp_flags"):
        places["tcp_flags"] = _FLAGS
    burst, first, told = _told(flows, number, limit, np.where(share >= most, near, 0.0), np.array([*places.values()]), of)
    del number
    columns: dict[str, Any] = dict(zip(places, told, strict=True))
    if "tcp_flags" in columns:
        columns["tcp_flags"] = columns["tcp_flags"].astype(np.uint8)
    without: dict[str, Any] = {name: np.broadcast_to(column[:1], len(flows)) for name, column in columns.items()}
    return Bursts(replace(replace(flows, **without).take(first), **columns), burst)


def _connections(flows: Flows, room: int = 1 << 16) -> tuple[Numbers, Ints]:
    """The number of each record's connection, counted from 0 as they appear; and how many records each has."""
    while True:
        # as short as can be: fresh memory takes longer to be had than to be written to
        number: Numbers = np.empty(len(flows), np.uint16) if room <= 1 << 16 else np.empty(len(flows), np.int32)
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
    """Into `number` that of each record's connection; how many records each has, and how many there are: −1 where that is more
    than `room`, a power of 2.
    """
    known = np.full(4 * room, -1, np.int32)
    keys = np.empty((room, 2), np.uint64)  # apart, for of a table of keys most lies idle in the cache
    mask, n = np.uint64(4 * room - 1), 0
    count = np.zeros(room, np.int64)
    for i in range(len(src)):
        ends = np.uint64(src[i]) << np.uint64(32) | np.uint64(dst[i])
        ports = np.uint64(dst_qp[i]) << np.uint64(32) | np.uint64(src_port[i]) << np.uint64(16) | np.uint64(dst_port[i])
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
        number[i] = k
        count[np.uint64(k)] += 1
    return count, n


_NUMBER, _LAST, _PATH, _LONG, _SIZE, _END, _FLAGS, _BUSY, _SUMS = range(9)  # known of a connection; then the sums of its burst


def _told(
    flows: Flows, number: Numbers, limit: Ints, near: Floats, places: Rows, of: bool
) -> tuple[NDArray[np.int32], Ints, Ints]:
    """The burst of each record if asked `of` that, the first record of each burst, and what is known of it at some `places`:
    its end, its flags, for how long one of its records was under way where it has several, and its sums; int64[places, bursts].

    `number` is the connection of each record, `limit` how many records a burst of each connection may have, `near` how many
    times the mean length of its records they may be apart.
    """
    rows = np.zeros(0, np.intp) if ascending(flows.start_ns) else np.argsort(flows.start_ns, kind="stable")
    columns: Any = tuple(getattr(flows, name) for name in ("start_ns", "end_ns", "path", "tcp_flags", *SUMS))
    burst = np.empty(len(flows) if of else 0, np.int32)
    known = np.full((len(limit), _SUMS + len(SUMS)), -1, np.int64)
    room = len(flows) + 97  # no power of 2; what is never written to takes no memory
    told, first = np.empty((len(places), room), np.int64), np.empty(room, np.int64)
    n = _burst(rows, number, limit, near, places, burst, known, first, told, *columns)
    _closed(known, places, told)
    return burst, first[:n], told[:, :n]


@compiled
def _burst(
    rows: Rows,
    number: Numbers,
    limit: Ints,
    near: Floats,
    places: Rows,
    burst: NDArray[np.int32],
    known: Ints,
    first: Ints,
    told: Ints,
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
    """Fills `burst` if it has room, `first` and `told`, from the records in the order of `rows` (as they are without any);
    returns how many bursts there are.

    `known` is of each connection the number of its last burst, of the last record of that the end and the path (−1 unless
    it may join others), how long the records of that burst were, how many they are, and what may be told of it once it is over:
    what a record changes lies side by side.
    """
    n = 0
    for place in range(len(number)):
        i = np.uint64(rows[place] if len(rows) else place)
        k, start, end = np.uint64(number[i]), starts[i], ends[i]
        parts = messages[i] if messages[i] > 0 else packets[i]
        plain = end > start and octets[i] > 256 * parts and octets[i] != 0
        size, long = known[k, _SIZE], known[k, _LONG]
        joins = plain and paths[i] == known[k, _PATH] and size < limit[k]
        if joins and (start - known[k, _LAST]) * size <= near[k] * long:
            if size == 1:
                known[k, _BUSY] = long
            known[k, _BUSY] += max(end - max(start, known[k, _END]), 0)
            known[k, _END] = max(known[k, _END], end)
            known[k, _FLAGS] |= flags[i]
            known[k, _SIZE], known[k, _LONG] = size + 1, long + end - start
        else:
            if known[k, _NUMBER] >= 0:
                _tell(known, k, places, told)
            first[np.uint64(n)] = i
            known[k, _NUMBER], known[k, _SIZE], known[k, _LONG] = n, 1, end - start
            known[k, _END], known[k, _FLAGS], known[k, _BUSY] = max(end, 0), flags[i], 0
            for column in range(_SUMS, known.shape[1]):
                known[k, column] = 0
            n += 1
        if len(burst):
            burst[i] = known[k, _NUMBER]
        known[k, _LAST], known[k, _PATH] = end, paths[i] if plain else -1
        known[k, _SUMS] += octets[i]
        known[k, _SUMS + 1] += packets[i]
        known[k, _SUMS + 2] += messages[i]
        known[k, _SUMS + 3] += retransmits[i]
        known[k, _SUMS + 4] += ecn[i]
        known[k, _SUMS + 5] += cnp[i]
        known[k, _SUMS + 6] += busy[i]
    return n


@compiled
def _tell(known: Ints, k: Any, places: Rows, told: Ints) -> None:
    """Writes down the last burst of a connection, which is over."""
    at = np.uint64(known[k, _NUMBER])
    for column in range(len(places)):
        told[column, at] = known[k, places[column]]


@compiled
def _closed(known: Ints, places: Rows, told: Ints) -> None:
    """Writes down the last burst of every connection."""
    for k in range(len(known)):
        _tell(known, k, places, told)
