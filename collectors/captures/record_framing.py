"""Find where the records of a pcap and the blocks of a pcapng start, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.captures.pcapng import ENHANCED, INTERFACE, LEAST, MAX_BLOCK, OBSOLETE, SECOND, SECTION, SIMPLE
from collectors.columns.record import Ints
from collectors.compilation.primitives import compiled, number, part

WHOLE, DAMAGED = 0, 1
DAY_NS = 86_400 * SECOND  # a packet further from the one before it has an odd time
UNKNOWN_NS = np.iinfo(np.int64).min  # the time of a packet before the first
_LEAST_OBSOLETE, _LEAST_SIMPLE, _LEAST_ENHANCED = LEAST[OBSOLETE], LEAST[SIMPLE], LEAST[ENHANCED]


class Records(NamedTuple):
    """How a pcap keeps packets: octets of a record's header, whether in network order, ns per unit of the fraction, the most
    octets a record may have, link type.
    """

    header: int
    big: bool
    unit: int
    limit: int
    link_type: int


BLOCKS = Records(28, False, 1, MAX_BLOCK, -1)  # the same of a pcapng's enhanced packet blocks, whose interfaces say more


class Frames:
    """Room for what is known of the frames of a batch, used again and again: columns of one row per frame."""

    def __init__(self) -> None:
        self.columns: list[Ints] = [np.zeros(0, np.int64)] * 5

    def room(self, rows: int) -> list[Ints]:
        """Link type, time, offset, captured and wire length of at least so many frames, to be written."""
        if rows > len(self.columns[0]):
            self.columns = [np.empty(2 * rows, np.int64) for _ in range(5)]
        return self.columns


@part
def is_far(time_ns: Any, last_ns: Any) -> Any:
    """Whether two times are more than a day apart. In floats, since their difference may not fit 64 bits."""
    return abs(np.float64(time_ns) - np.float64(last_ns)) > DAY_NS


@part
def time_of(buffer: Any, at: Any, how: Any, last_ns: Any) -> Any:
    """Time of the record at a place, and whether its fraction is impossible, which is more than a second.

    The whole second counts then, and the time of the packet before where that is in the same second.
    """
    _, big, unit, _, _ = how
    seconds, fraction = number(buffer + at, big) * SECOND, number(buffer + at + 4, big)
    if fraction <= SECOND // unit:  # some tools round up to a whole second
        return seconds + fraction * unit, False
    return max(seconds, min(last_ns, seconds + SECOND - 1)), True


@compiled
def scan_records(buffer: int, at: int, end: int, how: Any, last_ns: int, ended: bool, columns: Any) -> Any:
    """Write the columns of `Frames` of complete pcap records, up to the first odd one and the one before it.

    A record is odd if it is longer than any may be, or its time is far from that of the record before, `last_ns` for the first.
    Where the length of a record is damaged, the next one is odd. Hence none is taken before the header of the next is seen,
    except at the end of the file: `ended`. How many, where the next one starts, what stopped it, and how many fractions of a
    second were impossible. `how`: see `Records`.
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
    """Write where pcapng blocks with packets start, up to the first that is incomplete, wrong or describes others.

    How many those are, and where the next block starts.
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
