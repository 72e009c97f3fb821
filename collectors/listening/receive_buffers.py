"""Buffers for UDP messages from the kernel, with position, sender and time of each datagram.

A message is a datagram, or several of one sender and size that the kernel joined (UDP_GRO, udp(7)).
"""

from __future__ import annotations

import mmap
import socket
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collectors.columns.grouping import numbered
from collectors.columns.record import Ints

SLOTS = 8192  # datagrams per system call at most
STRIDE = 2048  # octets of a message in a block: exports fit an MTU of 1500
WIDE = 65_536  # if most messages are longer, as joined ones are; the maximum of a message
REST = WIDE - STRIDE  # room of a longer message besides its slot; untouched memory costs nothing

SO_TIMESTAMPNS, _UDP, _JOINED = 35, 17, 104
_CONTROL, _NAME = 64, 28

# struct mmsghdr, struct iovec, and the control messages of SO_TIMESTAMPNS and after it UDP_GRO, on any 64-bit Linux
HEADER = np.dtype(
    {
        "names": ("name", "namelen", "iov", "iovlen", "control", "controllen", "flags", "length"),
        "formats": ("u8", "u4", "u8", "u8", "u8", "u8", "i4", "u4"),
        "offsets": (0, 8, 16, 24, 32, 40, 48, 56),
        "itemsize": 64,
    }
)
_IOVEC = np.dtype([("base", "u8"), ("length", "u8")])
_SAID = np.dtype(
    {
        "names": ("level", "type", "seconds", "nanoseconds", "join_level", "join_type", "each"),
        "formats": ("i4", "i4", "i8", "i8", "i4", "i4", "i4"),
        "offsets": (8, 12, 16, 24, 40, 44, 48),
        "itemsize": _CONTROL,
    }
)


def longer_room(slots: int) -> mmap.mmap:
    """Allocate room for the rest of long messages, shared by blocks that are filled one after the other."""
    return mmap.mmap(-1, slots * REST)


class BufferBlock:
    """Room for consecutive messages, `stride` octets for each of `slots`: `STRIDE`, the rest elsewhere, or else `WIDE`."""

    def __init__(self, slots: int, rest: mmap.mmap) -> None:
        self.data, self.rest, self.count, self._most = bytearray(slots * STRIDE), rest, 0, slots
        self.headers, self.control = np.zeros(slots, HEADER), np.zeros(slots, _SAID)
        self.names, self._iovecs = np.zeros((slots, _NAME), np.uint8), np.zeros((slots, 2), _IOVEC)
        each = np.arange(slots, dtype=np.uint64)
        self.headers["name"] = self.names.ctypes.data + each * np.uint64(_NAME)
        self.headers["iov"] = self._iovecs.ctypes.data + each * np.uint64(2 * _IOVEC.itemsize)
        self.headers["control"] = self.control.ctypes.data + each * np.uint64(_CONTROL)
        self.headers["namelen"], self.headers["controllen"] = _NAME, _CONTROL
        self._shape(STRIDE)

    def _shape(self, stride: int) -> None:
        self.stride, self.slots = stride, self._most * STRIDE // stride
        each = np.arange(self.slots, dtype=np.uint64)
        for column, (memory, size) in enumerate(((self.data, stride), (self.rest, REST))):
            octets: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)  # type: ignore[call-overload]
            self._iovecs["base"][: self.slots, column] = octets.ctypes.data + each * np.uint64(size)
            self._iovecs["length"][: self.slots, column] = size
        self.headers["iovlen"] = 2 if stride == STRIDE else 1

    def clear(self, *, wide: bool = False) -> None:
        """Empty it, and make its slots wide if there is room for some."""
        headers = self.headers[: self.count]
        if self.holds_long(0):
            self.rest.madvise(mmap.MADV_DONTNEED)  # otherwise the written pages would stay allocated
        headers["namelen"], headers["controllen"] = _NAME, _CONTROL
        self.count = 0
        stride = WIDE if wide and self._most * STRIDE >= 16 * WIDE else STRIDE
        if stride != self.stride:
            self._shape(stride)

    def holds_long(self, begin: int) -> bool:
        """Check whether a message from `begin` on has octets in the `rest`."""
        return self.stride == STRIDE and int(self.headers["length"][begin : self.count].max(initial=0)) > STRIDE

    def octets(self, message: int, begin: int, end: int) -> bytes:
        """Return octets of a message."""
        at, apart = message * self.stride, message * REST - self.stride
        near = bytes(self.data[at + begin : at + min(end, self.stride)])
        return near if end <= self.stride else near + self.rest[apart + max(begin, self.stride) : apart + end]


@dataclass(frozen=True, eq=False)
class Received:
    """Datagrams in order of arrival: sender (one of the distinct `senders` of 4 or 16 octets), length and time of each.

    Datagram i starts `within[i]` octets after its `message[i]`, in a block that is reused after it is given back. They are
    `whole` if each message has all its octets in its slot.
    """

    senders: list[bytes]
    sender: Ints
    length: Ints
    time_ns: Ints
    message: Ints
    within: Ints
    whole: bool
    prefers_wide: bool
    block: BufferBlock

    def __len__(self) -> int:
        return len(self.message)

    def head(self, row: int, octets: int) -> bytes:
        """Return the first octets of a payload."""
        begin = int(self.within[row])
        return self.block.octets(int(self.message[row]), begin, begin + min(octets, int(self.length[row])))

    def places(self, rows: NDArray[np.intp]) -> Ints:
        """Return the positions of payloads in the block's data, if they are `whole`."""
        return self.message[rows] * self.block.stride + self.within[rows]

    def copied(self, rows: NDArray[np.intp]) -> tuple[bytes, Ints]:
        """Copy the messages of these rows; return the copy, and the position of each row in it."""
        messages, which = numbered(self.message[rows])
        sizes = self.block.headers["length"][messages].astype(np.int64)
        whole = [self.block.octets(message, 0, size) for message, size in zip(messages.tolist(), sizes.tolist(), strict=True)]
        return b"".join(whole), (np.cumsum(sizes) - sizes)[which] + self.within[rows]


def received(block: BufferBlock, *, longer: bool) -> Received:
    """Describe the content of a block, at least one message; `longer`: senders are IPv6."""
    headers, said = block.headers[: block.count], block.control[: block.count]
    stamped = (headers["controllen"] >= 32) & (said["type"] == SO_TIMESTAMPNS) & (said["level"] == socket.SOL_SOCKET)
    time_ns = said["seconds"] * 1_000_000_000 + said["nanoseconds"]
    time_ns = time_ns if stamped.all() else np.where(stamped, time_ns, time.time_ns())
    senders, sender = _senders(block.names[: block.count], longer=longer)
    size = headers["length"].astype(np.int64)
    message, within, length = np.arange(block.count), np.zeros(block.count, np.int64), size
    joined = (headers["controllen"] >= 52) & (said["join_type"] == _JOINED) & (said["join_level"] == _UDP)
    if joined.any():
        each = np.where(joined, np.maximum(said["each"], 1), np.maximum(size, 1)).astype(np.int64)
        many = np.maximum(-(-size // each), 1)
        message = np.repeat(message, many)
        within = (np.arange(len(message)) - np.repeat(np.cumsum(many) - many, many)) * each[message]
        length = np.minimum(each[message], size[message] - within)
        sender, time_ns = sender[message], time_ns[message]
    whole, wide = int(size.max()) <= block.stride, float(size.mean()) > WIDE / 4
    return Received(senders, sender, length, time_ns, message, within, whole, wide, block)


def _senders(names: NDArray[np.uint8], *, longer: bool) -> tuple[list[bytes], Ints]:
    """Return the distinct addresses in socket addresses (ip(7), ipv6(7)), and the index of each row's address."""
    begin, end, kind = (8, 24, np.int64) if longer else (4, 8, np.int32)
    words = np.ascontiguousarray(names[:, begin:end]).view(kind)
    if not longer:
        distinct, which = numbered(words[:, 0].astype(np.int64))
        return [word.tobytes() for word in distinct.astype(np.int32)], which
    (upper, one), (lower, other) = (numbered(np.ascontiguousarray(words[:, k])) for k in (0, 1))
    pairs, which = numbered(one << 32 | other)
    return [upper[pair >> 32].tobytes() + lower[pair & 0xFFFFFFFF].tobytes() for pair in pairs.tolist()], which
