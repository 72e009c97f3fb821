"""Buffers that the kernel writes UDP messages into, and where each datagram is, who sent it, and when.

A message is a datagram, or several of one sender and one size that the kernel joined (UDP_GRO, udp(7)).
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
STRIDE = 2048  # octets of a message in a slab: what exporters send fits an MTU of 1500
WIDE = 65_536  # where most are longer, as joined ones are; no message has more
REST = WIDE - STRIDE  # what a longer one has beside its slot; memory never touched costs nothing

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
    """Room for the rest of long messages in so many slots, which slabs share that are filled one after the other."""
    return mmap.mmap(-1, slots * REST)


class Slab:
    """Room for messages in a row, `stride` octets for each of `slots`: `STRIDE`, the rest elsewhere, or else `WIDE`."""

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
        """Make it empty, and its slots wide if there is room for some."""
        headers = self.headers[: self.count]
        if self.holds_long(0):
            self.rest.madvise(mmap.MADV_DONTNEED)  # it was written to, and would stay in memory for good
        headers["namelen"], headers["controllen"] = _NAME, _CONTROL
        self.count = 0
        stride = WIDE if wide and self._most * STRIDE >= 16 * WIDE else STRIDE
        if stride != self.stride:
            self._shape(stride)

    def holds_long(self, begin: int) -> bool:
        """Whether a message from this one on has octets in the `rest`."""
        return self.stride == STRIDE and int(self.headers["length"][begin : self.count].max(initial=0)) > STRIDE

    def octets(self, message: int, begin: int, end: int) -> bytes:
        """Some octets of a message."""
        at, apart = message * self.stride, message * REST - self.stride
        near = bytes(self.data[at + begin : at + min(end, self.stride)])
        return near if end <= self.stride else near + self.rest[apart + max(begin, self.stride) : apart + end]


@dataclass(frozen=True, eq=False)
class Received:
    """Datagrams in order of arrival: which of the distinct `senders` (4 or 16 octets) each is from, its length and time.

    Datagram i begins `within[i]` octets after its `message[i]`, in a slab that is used again once it was given back. They are
    `whole` where each message has all its octets in its slot.
    """

    senders: list[bytes]
    sender: Ints
    length: Ints
    time_ns: Ints
    message: Ints
    within: Ints
    whole: bool
    prefers_wide: bool
    slab: Slab

    def __len__(self) -> int:
        return len(self.message)

    def head(self, row: int, octets: int) -> bytes:
        """The first octets of a payload."""
        begin = int(self.within[row])
        return self.slab.octets(int(self.message[row]), begin, begin + min(octets, int(self.length[row])))

    def places(self, rows: NDArray[np.intp]) -> Ints:
        """Where in the slab's data payloads begin, where they are `whole`."""
        return self.message[rows] * self.slab.stride + self.within[rows]

    def copied(self, rows: NDArray[np.intp]) -> tuple[bytes, Ints]:
        """A copy of the messages that have these rows, end to end, and where in it each row begins."""
        messages, which = numbered(self.message[rows])
        sizes = self.slab.headers["length"][messages].astype(np.int64)
        whole = [self.slab.octets(message, 0, size) for message, size in zip(messages.tolist(), sizes.tolist(), strict=True)]
        return b"".join(whole), (np.cumsum(sizes) - sizes)[which] + self.within[rows]


def received(slab: Slab, *, longer: bool) -> Received:
    """What a slab holds, at least one message; `longer`: its senders have addresses of IPv6."""
    headers, said = slab.headers[: slab.count], slab.control[: slab.count]
    stamped = (headers["controllen"] >= 32) & (said["type"] == SO_TIMESTAMPNS) & (said["level"] == socket.SOL_SOCKET)
    time_ns = said["seconds"] * 1_000_000_000 + said["nanoseconds"]
    time_ns = time_ns if stamped.all() else np.where(stamped, time_ns, time.time_ns())
    senders, sender = _senders(slab.names[: slab.count], longer=longer)
    size = headers["length"].astype(np.int64)
    message, within, length = np.arange(slab.count), np.zeros(slab.count, np.int64), size
    joined = (headers["controllen"] >= 52) & (said["join_type"] == _JOINED) & (said["join_level"] == _UDP)
    if joined.any():
        each = np.where(joined, np.maximum(said["each"], 1), np.maximum(size, 1)).astype(np.int64)
        many = np.maximum(-(-size // each), 1)
        message = np.repeat(message, many)
        within = (np.arange(len(message)) - np.repeat(np.cumsum(many) - many, many)) * each[message]
        length = np.minimum(each[message], size[message] - within)
        sender, time_ns = sender[message], time_ns[message]
    whole, wide = int(size.max()) <= slab.stride, float(size.mean()) > WIDE / 4
    return Received(senders, sender, length, time_ns, message, within, whole, wide, slab)


def _senders(names: NDArray[np.uint8], *, longer: bool) -> tuple[list[bytes], Ints]:
    """The distinct addresses in socket addresses (ip(7), ipv6(7)), and which of them each is."""
    begin, end, kind = (8, 24, np.int64) if longer else (4, 8, np.int32)
    words = np.ascontiguousarray(names[:, begin:end]).view(kind)
    if not longer:
        distinct, which = numbered(words[:, 0].astype(np.int64))
        return [word.tobytes() for word in distinct.astype(np.int32)], which
    (upper, one), (lower, other) = (numbered(np.ascontiguousarray(words[:, k])) for k in (0, 1))
    pairs, which = numbered(one << 32 | other)
    return [upper[pair >> 32].tobytes() + lower[pair & 0xFFFFFFFF].tobytes() for pair in pairs.tolist()], which
