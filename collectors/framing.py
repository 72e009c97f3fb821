"""Where the records of a pcap and the blocks of a pcapng start, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from collectors.pcapng import ENHANCED, INTERFACE, LEAST, MAX_BLOCK, OBSOLETE, SECOND, SECTION, SIMPLE
from collectors.record import Ints
from collectors.wire import compiled, number

WHOLE, DAMAGED = 0, 1
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


@compiled
def scan_records(buffer: int, at: int, end: int, how: Any, columns: Any) -> Any:
    """Write the columns of `Frames` of complete pcap records; how many, where the next one starts, and what stopped it.

    `how`: see `Records`.
    """
    types, times, offsets, captures, wires = columns
    header, big, unit, limit, link_type = how
    n, one, most, longest = np.uint64(0), np.uint64(1), np.uint64(len(types)), SECOND // unit
    while n < most and at + header <= end:
        captured, fraction = number(buffer + at + 8, big), number(buffer + at + 4, big)
        if captured > limit or fraction > longest:  # some tools round up to a whole second
            return np.int64(n), at, DAMAGED
        if at + header + captured > end:
            break
        types[n], times[n] = link_type, number(buffer + at, big) * SECOND + fraction * unit
        offsets[n], captures[n], wires[n] = at + header, captured, number(buffer + at + 12, big)
        at += header + captured
        n += one
    return np.int64(n), at, WHOLE


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
            rows[n] = at
            n += 1
        at += length
    return n, at
