"""UDP datagrams out of the kernel, many per system call: recvmmsg(2) into one slab, copied out close together.

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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collectors.record import Ints

MIB = 1 << 20
SLOTS = 2048  # datagrams per system call at most
STRIDE = 65_536 + 21 * 64  # any UDP payload fits; neighbours do not share cache sets. Pages never touched cost nothing

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
        sock.setblocking(False)
        sock.bind((where.host, where.port))
    except OSError as error:
        sock.close()
        raise OSError(error.errno, error.strerror, str(where)) from None
    return sock, sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2  # the kernel doubles what it was asked for


def drops(sock: socket.socket) -> int:
    """Datagrams the kernel has dropped at this socket since it was made, modulo 2^32: mostly for want of buffer."""
    return int(_MEMINFO.unpack(sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, _MEMINFO.size))[8])


@dataclass(frozen=True, eq=False)
class Received:
    """What one system call brought: sender (4 or 16 octets), length and kernel's time of each datagram, in order of arrival.

    The payloads lie in the receiver's slab until its next call; `payloads` copies them out.
    """

    senders: list[bytes]
    length: Ints
    time_ns: Ints
    slab: memoryview

    def payloads(self, rows: Sequence[int]) -> bytes:
        """The payloads of these rows, end to end."""
        ends = self.length.tolist()
        return b"".join([self.slab[row * STRIDE : row * STRIDE + ends[row]] for row in rows])

    def head(self, row: int, octets: int) -> bytes:
        """The first octets of a payload."""
        return bytes(self.slab[row * STRIDE : row * STRIDE + min(octets, int(self.length[row]))])


class Receiver:
    """Reads sockets into a slab of `slots` datagrams."""

    def __init__(self, *, slots: int = SLOTS) -> None:
        self.slots = slots
        slab = mmap.mmap(-1, slots * STRIDE)
        self._slab = memoryview(slab)
        self._names, self._control = np.zeros((slots, _NAME), np.uint8), np.zeros(slots, _STAMP)
        iovecs, self._headers = np.zeros(slots, _IOVEC), np.zeros(slots, _HEADER)
        self._iovecs = iovecs  # the kernel reads them through their address
        each = np.arange(slots, dtype=np.uint64)
        iovecs["base"] = np.frombuffer(slab, np.uint8).ctypes.data + each * np.uint64(STRIDE)
        iovecs["length"] = 65_536
        self._headers["name"] = self._names.ctypes.data + each * np.uint64(_NAME)
        self._headers["iov"], self._headers["iovlen"] = iovecs.ctypes.data + each * np.uint64(_IOVEC.itemsize), 1
        self._headers["control"] = self._control.ctypes.data + each * np.uint64(_CONTROL)
        self._headers["namelen"], self._headers["controllen"] = _NAME, _CONTROL

    def receive(self, sock: socket.socket) -> Received | None:
        """What waits at a socket, up to `slots` datagrams; None where nothing does. Raises OSError."""
        address = self._headers.ctypes.data
        count = _recvmmsg(sock.fileno(), address, self.slots, socket.MSG_DONTWAIT, None)
        if count < 0:
            number = ctypes.get_errno()
            if number in (errno.EAGAIN, errno.EINTR):
                return None
            raise OSError(number, os.strerror(number))
        headers, stamps = self._headers[:count], self._control[:count]
        known = (headers["controllen"] >= 32) & (stamps["type"] == SO_TIMESTAMPNS) & (stamps["level"] == socket.SOL_SOCKET)
        stamped = stamps["seconds"] * 1_000_000_000 + stamps["nanoseconds"]
        time_ns = stamped if known.all() else np.where(known, stamped, time.time_ns())
        headers["namelen"], headers["controllen"] = _NAME, _CONTROL
        begin, size = (8, 16) if sock.family == socket.AF_INET6 else (4, 4)
        names = self._names[:count, begin : begin + size].tobytes()
        senders = [names[at : at + size] for at in range(0, count * size, size)]
        return Received(senders, headers["length"].astype(np.int64), time_ns, self._slab)
