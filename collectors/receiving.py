"""UDP datagrams out of the kernel, many per system call: recvmmsg(2) into slabs that are handed on and come back.

Nothing is decoded here. What the kernel lost because nobody read in time is read off each socket (SO_MEMINFO, socket(7)).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import ipaddress
import mmap
import os
import socket
import struct
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collectors.record import Ints

MIB = 1 << 20
SLOTS, SLABS = 8192, 8  # datagrams per system call at most; slabs of them
PAUSE = 0.005  # seconds
STRIDE = 2048  # octets of a datagram in a slab: what exporters send fits an MTU of 1500
REST = 65_536 - STRIDE  # of longer ones; memory never touched costs nothing

SO_RCVBUFFORCE, SO_MEMINFO, SO_TIMESTAMPNS = 33, 55, 35
_MEMINFO = struct.Struct("9I")  # the last is sk_drops, linux/sock_diag.h
_CONTROL, _NAME = 64, 28

# struct mmsghdr, struct iovec, and the control message of SO_TIMESTAMPNS, on any 64-bit Linux
_HEADER = np.dtype(
    {
        "names": ("name", "namelen", "iov", "iovlen", "control", "controllen", "flags", "length"),
        "formats": ("u8", "u4", "u8", "u8", "u8", "u8", "i4", "u4"),
        "offsets": (0, 8, 16, 24, 32, 40, 48, 56),
        "itemsize": 64,
    }
)
_IOVEC = np.dtype([("base", "u8"), ("length", "u8")])
_STAMP = np.dtype(
    {
        "names": ("level", "type", "seconds", "nanoseconds"),
        "formats": ("i4", "i4", "i8", "i8"),
        "offsets": (8, 12, 16, 24),
        "itemsize": _CONTROL,
    }
)

_libc = ctypes.CDLL(None, use_errno=True)
_recvmmsg = _libc.recvmmsg
_recvmmsg.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p)


@dataclass(frozen=True)
class Endpoint:
    """Where to listen: `kind` names the decoder, `host` is an address, empty for all of IPv4 and IPv6."""

    kind: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def endpoint(kind: str, text: str) -> Endpoint:
    """An endpoint from `PORT`, `:PORT` (both on loopback), `ADDRESS:PORT`, `[ADDRESS]:PORT` or `*:PORT`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    try:
        if ":" in host:
            if not (host.startswith("[") and host.endswith("]")):
                raise ValueError
            host = host[1:-1]
        number = int(port)
        if not 0 <= number < 1 << 16:
            raise ValueError
        if host == "*":
            return Endpoint(kind, "", number)
        return Endpoint(kind, str(ipaddress.ip_address(host or "127.0.0.1")), number)
    except ValueError:
        raise ValueError(f"{text!r} is no place to listen: say PORT, ADDRESS:PORT, [ADDRESS]:PORT or *:PORT") from None


def bound(where: Endpoint, *, buffer: int = 32 * MIB) -> tuple[socket.socket, int]:
    """A socket that receives there, and how large a receive buffer of the `buffer` asked for was granted. Raises OSError."""
    family = socket.AF_INET6 if ":" in where.host or not where.host else socket.AF_INET
    try:
        sock = socket.socket(family, socket.SOCK_DGRAM)
    except OSError as error:
        if where.host or error.errno != errno.EAFNOSUPPORT:
            raise
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # a kernel without IPv6
    try:
        if sock.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if not where.host else 1)
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        with contextlib.suppress(PermissionError):  # past net.core.rmem_max, with CAP_NET_ADMIN
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, buffer)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@qq", 0, int(PAUSE * 1e6)))
        sock.bind((where.host, where.port))
    except OSError as error:
        sock.close()
        raise OSError(error.errno, error.strerror, str(where)) from None
    return sock, sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2  # the kernel doubles what it was asked for


def drops(sock: socket.socket) -> int:
    """Datagrams the kernel has dropped at this socket since it was made, modulo 2^32: mostly for want of buffer."""
    return int(_MEMINFO.unpack(sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, _MEMINFO.size))[8])


class Slab:
    """Room for `slots` datagrams: the first `STRIDE` octets of each one after the other, the rest of long ones elsewhere."""

    def __init__(self, slots: int, rest: mmap.mmap) -> None:
        self.data, self.rest, self.count = bytearray(slots * STRIDE), memoryview(rest), 0
        self.headers, self.control = np.zeros(slots, _HEADER), np.zeros(slots, _STAMP)
        self.names, self._iovecs = np.zeros((slots, _NAME), np.uint8), np.zeros((slots, 2), _IOVEC)
        each = np.arange(slots, dtype=np.uint64)
        for column, (memory, size) in enumerate(((self.data, STRIDE), (rest, REST))):
            octets: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)  # type: ignore[call-overload]
            self._iovecs["base"][:, column] = octets.ctypes.data + each * np.uint64(size)
            self._iovecs["length"][:, column] = size
        self.headers["name"] = self.names.ctypes.data + each * np.uint64(_NAME)
        self.headers["iov"], self.headers["iovlen"] = self._iovecs.ctypes.data + each * np.uint64(2 * _IOVEC.itemsize), 2
        self.headers["control"] = self.control.ctypes.data + each * np.uint64(_CONTROL)
        self.clear()

    def clear(self) -> None:
        """Make it empty."""
        self.headers["namelen"][: self.count], self.headers["controllen"][: self.count] = _NAME, _CONTROL
        if not self.count:
            self.headers["namelen"], self.headers["controllen"] = _NAME, _CONTROL
        self.count = 0


@dataclass(frozen=True, eq=False)
class Received:
    """Datagrams in order of arrival: which of the distinct `senders` (4 or 16 octets) each is from, its length and time.

    They lie in a slab that is used again once it was given back.
    """

    senders: list[bytes]
    sender: NDArray[np.intp]
    length: Ints
    time_ns: Ints
    slab: Slab

    def head(self, row: int, octets: int) -> bytes:
        """The first octets of a payload, at most `STRIDE`."""
        return bytes(self.slab.data[row * STRIDE : row * STRIDE + min(octets, int(self.length[row]))])

    def copied(self, rows: NDArray[np.intp]) -> tuple[bytes, Ints]:
        """The payloads of these rows, end to end, and where each begins."""
        length = self.length[rows]
        with memoryview(self.slab.data) as near:
            parts = []
            for row, size in zip(rows.tolist(), length.tolist(), strict=True):
                parts.append(near[row * STRIDE : row * STRIDE + min(size, STRIDE)])
                if size > STRIDE:
                    parts.append(self.slab.rest[row * REST : row * REST + size - STRIDE])
            data = b"".join(parts)
            for part in parts:
                part.release()
        return data, np.cumsum(length) - length


class Receiver:
    """Reads one socket into slabs of `slots` datagrams, at most `slabs` of them; `give_back` may be called by any thread."""

    def __init__(self, sock: socket.socket, *, slots: int = SLOTS, slabs: int = SLABS) -> None:
        self.sock, self.slots, self._spare = sock, slots, slabs - 1
        self._rest = mmap.mmap(-1, slots * REST)
        self._free: deque[Slab] = deque()
        self._slab = Slab(slots, self._rest)

    @property
    def count(self) -> int:
        """Datagrams in the slab that is being filled."""
        return self._slab.count

    @property
    def can_turn(self) -> bool:
        """Whether there is a slab to go on with."""
        return bool(self._free) or self._spare > 0

    def fill(self, *, linger: float | None = None) -> int:
        """Read what waits, as far as there is room, and what comes within `linger` seconds: how many datagrams.

        Raises OSError. A pause of `PAUSE` ends it early.
        """
        slab = self._slab
        address = slab.headers.ctypes.data + slab.count * _HEADER.itemsize
        flags = socket.MSG_DONTWAIT if linger is None else 0
        patience = None if linger is None else struct.pack("@qq", *divmod(int(linger * 1e9), 1_000_000_000))
        count = int(_recvmmsg(self.sock.fileno(), address, self.slots - slab.count, flags, patience))
        if count < 0:
            number = ctypes.get_errno()
            if number not in (errno.EAGAIN, errno.EINTR):
                raise OSError(number, os.strerror(number))
            return 0
        slab.count += count
        return count

    def received(self) -> Received:
        """What the slab holds that is being filled, at least one datagram."""
        slab, count = self._slab, self._slab.count
        headers, stamps = slab.headers[:count], slab.control[:count]
        known = (headers["controllen"] >= 32) & (stamps["type"] == SO_TIMESTAMPNS) & (stamps["level"] == socket.SOL_SOCKET)
        stamped = stamps["seconds"] * 1_000_000_000 + stamps["nanoseconds"]
        time_ns = stamped if known.all() else np.where(known, stamped, time.time_ns())
        begin, size = (8, 16) if self.sock.family == socket.AF_INET6 else (4, 4)
        names = np.ascontiguousarray(slab.names[:count, begin : begin + size]).view(f"S{size}").ravel()
        _, first, sender = np.unique(names, return_index=True, return_inverse=True)
        senders = [slab.names[row, begin : begin + size].tobytes() for row in first.tolist()]
        return Received(senders, sender, headers["length"].astype(np.int64), time_ns, slab)

    def clear(self) -> None:
        """Fill the same slab anew: what it held is no longer needed."""
        self._slab.clear()

    def turn(self) -> None:
        """Fill another slab, where one `can_turn`; the one before is kept until it is given back."""
        if self._free:
            self._slab = self._free.popleft()
        else:
            self._spare -= 1
            self._slab = Slab(self.slots, self._rest)

    def give_back(self, slab: Slab) -> None:
        """The datagrams of a slab are no longer needed."""
        slab.clear()
        self._free.append(slab)
