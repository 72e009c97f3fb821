"""Loops over the octets of NetFlow and IPFIX messages: sets in datagrams, records in sets, numbers in records.

Nothing here reads outside of what it is told to be within, and each octet is looked at a bounded number of times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors import wire
from collectors.compiled import compiled
from collectors.record import Ints
from collectors.templates import IPFIX, LENGTH, PLACE, V5, V9

Octets = NDArray[np.uint8]

# Rows of the heads of messages: what each datagram is.
VERSION, DOMAIN, SEQUENCE, EXPORT_NS, UPTIME_MS, RATE, FAULT, CUT, HEADS = range(9)
# Rows of the sets of messages; those of version 5 are one set of all records.
DATAGRAM, ID, BEGIN, END, TRIMMED, SETS = range(6)
FAULTS = ("", "truncated header", "unknown version", "bad message length", "bad set length", "reserved set id", "cut off")
SOUND, SHORT, UNKNOWN, MESSAGE, SET, RESERVED, CUT_OFF = range(7)
V5_MOST = 30  # records in a datagram
V5_HEAD, V5_RECORD, V9_HEAD, IPFIX_HEAD = 24, 48, 20, 16
SECOND_NS = 1_000_000_000


@compiled
def number(data: Octets, at: int, length: int) -> Any:
    """An unsigned number of up to 8 octets, most significant first."""
    value = np.uint64(0)
    for k in range(length):
        value = (value << np.uint64(8)) | np.uint64(data[at + k])
    return value


@compiled
def short(data: Octets, at: int) -> Any:
    """A number of 16 bits."""
    return (np.int64(data[at]) << 8) | np.int64(data[at + 1])


@compiled
def long(data: Octets, at: int) -> Any:
    """A number of 32 bits."""
    return (short(data, at) << 16) | short(data, at + 2)


@compiled
def head(data: Octets, at: int, end: int, heads: Ints, i: int) -> tuple[int, int]:
    """Read the header of a message; where its sets begin and end. The fault is in `heads`."""
    heads[UPTIME_MS, i] = -1
    size = end - at
    if size < 2:
        heads[FAULT, i] = SHORT
        return at, at
    version = short(data, at)
    heads[VERSION, i] = version
    if version == IPFIX and size >= IPFIX_HEAD:
        heads[EXPORT_NS, i] = long(data, at + 4) * SECOND_NS
        heads[SEQUENCE, i], heads[DOMAIN, i] = long(data, at + 8), long(data, at + 12)
        length = short(data, at + 2)
        if length < IPFIX_HEAD:
            heads[FAULT, i] = MESSAGE
            return at, at
        if length > size:
            heads[FAULT, i] = CUT_OFF
        return at + IPFIX_HEAD, at + min(length, size)
    if version == V9 and size >= V9_HEAD:
        heads[UPTIME_MS, i], heads[EXPORT_NS, i] = long(data, at + 4), long(data, at + 8) * SECOND_NS
        heads[SEQUENCE, i], heads[DOMAIN, i] = long(data, at + 12), long(data, at + 16)
        return at + V9_HEAD, end
    if version == V5 and size >= V5_HEAD:
        heads[UPTIME_MS, i] = long(data, at + 4)
        heads[EXPORT_NS, i] = long(data, at + 8) * SECOND_NS + long(data, at + 12)
        heads[SEQUENCE, i], heads[DOMAIN, i] = long(data, at + 16), short(data, at + 20)
        heads[RATE, i] = short(data, at + 22) & 0x3FFF
        count, there = short(data, at + 2), (size - V5_HEAD) // V5_RECORD
        if not 0 < count <= V5_MOST:
            heads[FAULT, i] = MESSAGE
            return at, at
        if count > there:
            heads[FAULT, i] = CUT_OFF
            heads[CUT, i] = 1
        return at + V5_HEAD, at + V5_HEAD + min(count, there) * V5_RECORD
    heads[FAULT, i] = SHORT if version in (V5, V9, IPFIX) else UNKNOWN
    return at, at


@compiled
def walk(data: Octets, offset: Ints, length: Ints, heads: Ints, sets: Ints) -> int:
    """Fill the heads [HEADS, datagrams] and sets [SETS, room], both zeroed; how many sets there are, -1: no room for them.

    There are no more sets than a quarter of the octets, and datagrams. A set that is cut off ends where its message does.
    """
    many, room = 0, sets.shape[1]
    for i in range(len(offset)):
        at, end = head(data, offset[i], offset[i] + length[i], heads, i)
        if many == room:
            return -1
        if heads[VERSION, i] == V5:
            if end > at:
                sets[DATAGRAM, many], sets[ID, many], sets[BEGIN, many], sets[END, many] = i, V5, at, end
                many += 1
            continue
        while at + 4 <= end:
            which, size = short(data, at), short(data, at + 2)
            if size < 4:
                padding = which == 0 and size == 0 and blank(data, at, end)
                if not padding:
                    heads[FAULT, i] = SET
                    heads[CUT, i] += 1
                break
            trimmed = at + size > end
            if trimmed:
                heads[FAULT, i] = CUT_OFF
                size = end - at
            if 256 > which > 3 or (which > 1) != (heads[VERSION, i] == IPFIX or which > 3):
                heads[FAULT, i] = RESERVED
                heads[CUT, i] += 1
            elif many == room:
                return -1
            else:
                sets[DATAGRAM, many], sets[ID, many], sets[TRIMMED, many] = i, which, trimmed
                sets[BEGIN, many], sets[END, many] = at + 4, at + size
                many += 1
            at += size
    return many


@compiled
def blank(data: Octets, at: int, end: int) -> bool:
    """Whether there are only zeros."""
    for k in range(at, end):  # noqa: SIM110 - numba knows no generators
        if data[k]:
            return False
    return True


@compiled
def fixed_records(data: Octets, begin: Ints, count: Ints, size: int, slots: Ints, out: NDArray[np.uint64]) -> None:
    """The numbers of records of one size: `count` of them from each `begin`; out [slots, records]."""
    row, address = 0, data.ctypes.data
    for s in range(len(begin)):
        many = count[s]
        for k in range(slots.shape[1]):
            take, what, at = slots[2, k], slots[3, k], begin[s] + slots[4, k]
            numbers = out[k, row : row + many]
            if what == PLACE:
                for r in range(many):
                    numbers[r] = at + r * size
            elif what == LENGTH:
                numbers[:] = take
            else:
                fixed_numbers(address + at, take, size, numbers)
        row += many


@compiled
def fixed_numbers(begin: int, take: int, size: int, numbers: NDArray[np.uint64]) -> None:
    """One number of each of many records, the first at an address: most have 4, 8, 2 octets or 1."""
    place = begin
    if take == 4:
        for r in range(len(numbers)):
            numbers[r] = wire.long(place)
            place += size
    elif take == 8:
        for r in range(len(numbers)):
            numbers[r] = wire.double(place)
            place += size
    elif take == 2:
        for r in range(len(numbers)):
            numbers[r] = wire.short(place)
            place += size
    elif take == 1:
        for r in range(len(numbers)):
            numbers[r] = wire.octet(place)
            place += size
    else:
        for r in range(len(numbers)):
            value = np.uint64(0)
            for k in range(take):
                value = (value << np.uint64(8)) | np.uint64(wire.octet(place + k))
            numbers[r] = value
            place += size


@compiled
def locate(data: Octets, at: int, end: int, lengths: Ints, starts: Ints, sizes: Ints) -> int:
    """Find the fields of a record whose length varies; where it ends, -1 where it does not before `end`."""
    for f in range(len(lengths)):
        size = lengths[f]
        if size < 0:  # RFC 7011 section 7
            if at >= end:
                return -1
            size = np.int64(data[at])
            at += 1
            if size == 255:
                if at + 2 > end:
                    return -1
                size = short(data, at)
                at += 2
        if at + size > end:
            return -1
        starts[f], sizes[f] = at, size
        at += size
    return at


@compiled
def count_records(data: Octets, begin: Ints, end: Ints, lengths: Ints, least: int, count: Ints, cut: Ints) -> None:
    """How many whole records each set has, and whether the last one is cut off; fewer octets than `least` are padding."""
    starts, sizes = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    for s in range(len(begin)):
        at = begin[s]
        while end[s] - at >= least:
            at = locate(data, at, end[s], lengths, starts, sizes)
            if at < 0:
                cut[s] = 1
                break
            count[s] += 1


@compiled
def varying_records(
    data: Octets, begin: Ints, end: Ints, count: Ints, lengths: Ints, slots: Ints, out: NDArray[np.uint64]
) -> None:
    """The numbers of records whose length varies, as `fixed_records` has them; one longer than 8 octets is 0."""
    starts, sizes = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    row = 0
    for s in range(len(begin)):
        at = begin[s]
        for _ in range(count[s]):
            at = locate(data, at, end[s], lengths, starts, sizes)
            for k in range(slots.shape[1]):
                place, size = starts[slots[0, k]] + slots[1, k], sizes[slots[0, k]]
                what, take = slots[3, k], slots[2, k]
                if what == PLACE:
                    out[k, row] = place
                elif what == LENGTH:
                    out[k, row] = size
                elif take >= 0:
                    out[k, row] = number(data, place, take)
                elif size <= 8:
                    out[k, row] = number(data, place, size)
            row += 1
