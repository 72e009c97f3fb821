"""Find the positions of pcap records and pcapng blocks, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.captures.pcapng import ENHANCED, INTERFACE, LEAST, MAX_BLOCK, OBSOLETE, SECOND, SECTION, SIMPLE
from collectors.columns.record import Ints
from collectors.compilation.primitives import compiled, number, part

WHOLE, DAMAGED = 0, 1
DAY_NS = 86_400 * SECOND  # a larger distance to the previous packet is implausible
UNKNOWN_NS = np.iinfo(np.int64).min  # time of the packet before the first one
_LEAST_OBSOLETE, _LEAST_SIMPLE, _LEAST_ENHANCED = LEAST[OBSOLETE], LEAST[SIMPLE], LEAST[ENHANCED]


class Records(NamedTuple):
    """Format of a pcap's packets.

    `header`: octets of a record's header; `big`: network order; `unit`: ns per unit of the fraction; `limit`: maximum octets of
    a record; `link_type`.
    """

    header: int
    big: bool
    unit: int
    limit: int
    link_type: int


BLOCKS = Records(28, False, 1, MAX_BLOCK, -1)  # for a pcapng's enhanced packet blocks, whose interfaces have the rest


class Frames:
    """Reusable columns for the frames of a batch: one row per frame."""

    def __init__(self) -> None:
        self.columns: list[Ints] = [np.zeros(0, np.int64)] * 5

    def room(self, rows: int) -> list[Ints]:
        """Return writable columns for `rows` frames: link type, time, offset, captured and wire length."""
        if rows > len(self.columns[0]):
            self.columns = [np.empty(2 * rows, np.int64) for _ in range(5)]
        return self.columns


@part
def is_far(time_ns: Any, last_ns: Any) -> Any:
    """Check whether two times are more than a day apart. Uses floats, because the difference may not fit 64 bits."""
    return abs(np.float64(time_ns) - np.float64(last_ns)) > DAY_NS


@part
def time_of(buffer: Any, at: Any, how: Any, last_ns: Any) -> Any:
    """Return the time of the record at `at`, and whether its fraction is invalid (more than a second).

    For an invalid fraction, use the whole second, or the time of the previous packet if it is in the same second.
    """
    _, big, unit, _, _ = how
    seconds, fraction = number(buffer + at, big) * SECOND, number(buffer + at + 4, big)
    if fraction <= SECOND // unit:  # some tools round up to a whole second
        return seconds + fraction * unit, False
    return max(seconds, min(last_ns, seconds + SECOND - 1)), True


@compiled
def scan_records(buffer: int, at: int, end: int, how: Any, last_ns: int, ended: bool, columns: Any) -> Any:
    """Write the columns of `Frames` of complete pcap records, up to the first odd one and the one before it.

    A record is odd if it is too long, or if its time is far from that of the previous record (`last_ns` for the first). A
    damaged length makes the next record odd, so a record is accepted after the next header is checked, or at the end of the
    file (`ended`). Returns the number of records, the position of the next one, the reason of the stop, and the number of
    invalid fractions. `how`: see `Records`.
    """
    types, times, offsets, captures, wires = columns
    header, big, _, limit, link_type = how
    n, one, most, fractions = np.uint64(0), np.uint64(1), np.uint64(len(types)), 0
    start, was_odd = at, False  # of the newest record
    while at + header <= end:
        captured = number(buffer + at + 8, big)
        time_ns, impossible = time_of(buffer, at, how, last_ns)
        if captured > limit or (last_ns == UNKNOWN_NS or is_far(time_ns, last_ns)):
            if n:
                n, at, fractions = n - one, start, fractions - was_odd
            return np.int64(n), at, DAMAGED, fractions
        if n == most or at + header + captured > end:
            break
        types[n], times[n] = link_type, time_ns
        offsets[n], captures[n], wires[n] = at + header, captured, number(buffer + at + 12, big)
        start, was_odd, last_ns = at, impossible, time_ns
        fractions += impossible
        at += header + captured
        n += one
    if n and not ended and at + header > end:
        n, at, fractions = n - one, start, fractions - was_odd
    return np.int64(n), at, WHOLE, fractions


@compiled
def scan_blocks(buffer: int, at: int, end: int, big: bool, rows: Any) -> Any:
    """Write the positions of pcapng packet blocks, up to the first incomplete, invalid or other block.

    Returns their number, and the position of the next block.
    """
    n, most = 0, len(rows)
    while n < most and at + 12 <= end:
        kind, length = number(buffer + at, big), number(buffer + at + 4, big)
        least = 12
        if kind == ENHANCED:
            least = _LEAST_ENHANCED
        elif kind == SIMPLE:
            least = _LEAST_SIMPLE
        elif kind == OBSOLETE:
            least = _LEAST_OBSOLETE
        if kind in (SECTION, INTERFACE) or length < least or length > MAX_BLOCK or length & 3 or at + length > end:
            break
        if kind in (ENHANCED, SIMPLE, OBSOLETE):
            if number(buffer + at + length - 4, big) != length:
                break
            rows[n] = at
            n += 1
        at += length
    return n, at
