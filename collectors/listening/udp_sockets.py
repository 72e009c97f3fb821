"""Receive many UDP datagrams per system call (recvmmsg(2)) into recycled buffers.

Nothing is decoded here. Datagrams that the kernel dropped are read from each socket (SO_MEMINFO, socket(7)).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import ipaddress
import os
import socket
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass

from collectors.listening.receive_buffers import HEADER, SLOTS, SO_TIMESTAMPNS, BufferBlock, Received, longer_room, received

MIB = 1 << 20
BLOCKS = 8
PAUSE_S = 0.005  # seconds
MESSAGES_PER_CALL = 256  # messages of one system call

SO_RCVBUFFORCE, SO_MEMINFO, UDP_GRO = 33, 55, 104
_MEMINFO = struct.Struct("9I")  # the last is sk_drops, linux/sock_diag.h

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


def parse_endpoint(kind: str, text: str) -> Endpoint:
    """Parse `PORT`, `:PORT` (both on loopback), `ADDRESS:PORT`, `[ADDRESS]:PORT` or `*:PORT`. Raises ValueError."""
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
        raise ValueError(
            f"{text!r} is not an address to listen on; write PORT, ADDRESS:PORT, [ADDRESS]:PORT or *:PORT"
        ) from None


def open_socket(endpoint: Endpoint, *, buffer: int = 32 * MIB, joined: bool = True) -> tuple[socket.socket, int]:
    """Open a socket; return it with the granted size of the receive buffer (`buffer` requested). Raises OSError.

    `joined`: the kernel may join consecutive datagrams of one sender and size to one message (UDP_GRO, udp(7)), which saves
    most of the cost of receiving.
    """
    family = socket.AF_INET6 if ":" in endpoint.host or not endpoint.host else socket.AF_INET
    try:
        sock = socket.socket(family, socket.SOCK_DGRAM)
    except OSError as error:
        if endpoint.host or error.errno != errno.EAFNOSUPPORT:
            raise
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # a kernel without IPv6
    try:
        if sock.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if not endpoint.host else 1)
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        if joined:
            with contextlib.suppress(OSError):  # before Linux 5.0
                sock.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        with contextlib.suppress(PermissionError):  # above net.core.rmem_max, with CAP_NET_ADMIN
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, buffer)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@qq", 0, int(PAUSE_S * 1e6)))
        sock.bind((endpoint.host, endpoint.port))
    except OSError as error:
        sock.close()
        raise OSError(error.errno, error.strerror, str(endpoint)) from None
    return sock, sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2  # the kernel doubles the requested size


def dropped_datagrams(sock: socket.socket) -> int:
    """Return the datagrams that the kernel dropped at this socket since its creation, modulo 2^32; usually for lack of buffer.

    Joined datagrams count as one: see `open_socket`.
    """
    return int(_MEMINFO.unpack(sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, _MEMINFO.size))[8])


def is_pressed(sock: socket.socket, *, share: float) -> bool:
    """Check whether at least this share of the kernel's receive buffer is in use."""
    used, room = _MEMINFO.unpack(sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, _MEMINFO.size))[:2]
    return bool(used >= share * room)


class Receiver:
    """Reads one socket into blocks for `slots` datagrams, at most `blocks` of them; `give_back` is thread-safe."""

    def __init__(self, sock: socket.socket, *, slots: int = SLOTS, blocks: int = BLOCKS) -> None:
        self.sock, self._slots, self._spare = sock, slots, blocks - 1
        self._room, self._wide = longer_room(slots), False
        self._free: deque[BufferBlock] = deque()
        self._returned = threading.Event()
        self._block = BufferBlock(slots, self._room)

    @property
    def count(self) -> int:
        """Return the messages in the current block: datagrams, or joined ones."""
        return self._block.count

    @property
    def full(self) -> bool:
        """Check whether the current block is full."""
        return self._block.count == self._block.slots

    @property
    def has_room(self) -> bool:
        """Check whether there is a free block."""
        return bool(self._free) or self._spare > 0

    def wait(self, seconds: float) -> bool:
        """Wait until it `has_room`, at most `seconds`; return whether it has."""
        self._returned.clear()
        return self.has_room or self._returned.wait(seconds) or self.has_room

    def fill(self, *, linger: float | None = None) -> int:
        """Read what waits, as far as there is room, and what arrives within `linger` seconds; return the number of messages.

        Raises OSError. Ends early after a pause of `PAUSE_S`, and with long messages, which need memory besides the block.
        """
        block, before = self._block, self._block.count
        until = None if linger is None else time.monotonic() + linger
        while block.count < block.slots:
            asked = min(block.slots - block.count, MESSAGES_PER_CALL)
            count = self._read(asked, until)
            block.count += count
            if count < asked or block.holds_long(before) or (until is not None and time.monotonic() >= until):
                break
        return block.count - before

    def _read(self, most: int, until: float | None) -> int:
        """Make one system call."""
        address = self._block.headers.ctypes.data + self._block.count * HEADER.itemsize
        flags, patience = int(socket.MSG_DONTWAIT), None
        if until is not None:
            flags, left = 0, max(until - time.monotonic(), 0.0)
            patience = struct.pack("@qq", *divmod(int(left * 1e9), 1_000_000_000))
        count = int(_recvmmsg(self.sock.fileno(), address, most, flags, patience))
        if count < 0:
            number = ctypes.get_errno()
            if number not in (errno.EAGAIN, errno.EINTR):
                raise OSError(number, os.strerror(number))
            return 0
        return count

    def received(self) -> Received:
        """Describe the content of the current block, at least one datagram."""
        found = received(self._block, longer=self.sock.family == socket.AF_INET6)
        self._wide = found.prefers_wide
        return found

    def clear(self) -> None:
        """Reuse the current block; its content is no longer needed."""
        self._block.clear(wide=self._wide)

    def turn(self) -> None:
        """Switch to another block, if it `has_room`; the old one stays valid until it is given back."""
        if self._free:
            self._block = self._free.pop()  # the last used one is most likely in a cache
        else:
            self._spare -= 1
            self._block = BufferBlock(self._slots, self._room)
        self._block.clear(wide=self._wide)

    def give_back(self, block: BufferBlock) -> None:
        """Return a block whose datagrams are no longer needed."""
        self._free.append(block)
        self._returned.set()
