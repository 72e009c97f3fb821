"""Walk NetFlow and IPFIX messages, compiled: their headers, and the sets in them.

Nothing here reads outside of the given bounds, and each octet is read a bounded number of times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from collectors.compilation.primitives import soon
from collectors.exports.records.templates import IPFIX, V5, V9

Octets = NDArray[np.uint8]

# Rows of message heads: what each datagram is.
VERSION, DOMAIN, SEQUENCE, EXPORT_NS, UPTIME_MS, RATE, FAULT, CUT, HEADS = range(9)
# Rows of sets; those of version 5 are one set of all records.
DATAGRAM, ID, BEGIN, END, TRIMMED, SETS = range(6)
FAULTS = ("", "truncated header", "unknown version", "bad message length", "bad set length", "reserved set id", "cut off")
SOUND, SHORT, UNKNOWN, MESSAGE, SET, RESERVED, CUT_OFF = range(7)
V5_MOST = 30  # records in a datagram
V5_HEAD, V5_RECORD, V9_HEAD, IPFIX_HEAD = 24, 48, 20, 16
_AHEAD = 16  # datagrams whose headers are prefetched
SECOND_NS = 1_000_000_000


@compiled
def number(data: Octets, at: int, length: int) -> Any:
    """Read an unsigned number of up to 8 octets, most significant first."""
    value = np.uint64(0)
    for k in range(length):
        value = (value << np.uint64(8)) | np.uint64(data[at + k])
    return value


@compiled
def short(data: Octets, at: int) -> Any:
    """Read a number of 16 bits."""
    return (np.int64(data[at]) << 8) | np.int64(data[at + 1])


@compiled
def long(data: Octets, at: int) -> Any:
    """Read a number of 32 bits."""
    return (short(data, at) << 16) | short(data, at + 2)


@compiled
def head(data: Octets, at: int, end: int, heads: Ints, i: int) -> tuple[int, int]:
    """Read the header of a message; return the start and end of its sets. A fault is written to `heads`."""
    for row in range(HEADS):
        heads[row, i] = 0
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
def unpack_messages(data: Octets, offset: Ints, length: Ints, heads: Ints, sets: Ints) -> int:
    """Fill the heads [HEADS, datagrams] and sets [SETS, room]; return the number of sets, -1 if there is no room.

    The number of sets is at most a quarter of the octets plus the datagrams. A truncated set ends with its message.
    """
    many, room, base = 0, sets.shape[1], data.ctypes.data
    for i in range(len(offset)):
        if i + _AHEAD < len(offset):
            soon(base + offset[i + _AHEAD])
        at, end = head(data, offset[i], offset[i] + length[i], heads, i)
        if many == room:
            return -1
        if heads[VERSION, i] == V5:
            if end > at:
                sets[DATAGRAM, many], sets[ID, many], sets[TRIMMED, many] = i, V5, 0
                sets[BEGIN, many], sets[END, many] = at, end
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
    """Check for only zeros."""
    for k in range(at, end):  # noqa: SIM110 - numba knows no generators
        if data[k]:
            return False
    return True
