"""Read frames of an interface from the kernel's ring (AF_PACKET, TPACKET_V3) in batches. Needs only CAP_NET_RAW.

The kernel writes frames with its time stamps to shared memory; a block is readable once it is full or 100 ms old.
https://www.kernel.org/doc/html/latest/networking/packet_mmap.html; linux/if_packet.h.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import select
import socket
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from collectors.captures.bpf import Instruction, keep_all, pack_program
from collectors.columns.record import Ints
from collectors.packets.frame_batch import PAD, Batch, gather

SNAPLEN = 256
MIB = 1 << 20

_SOL_PACKET, _MEMBERSHIP, _RX_RING, _STATISTICS, _VERSION, _IGNORE_OUTGOING = 263, 1, 5, 6, 10, 23
_ATTACH_FILTER, _PROMISCUOUS, _EVERY_PROTOCOL, _V3 = 26, 1, 3, 2
_RETIRE_MS = 100
_OURS = 1  # TP_STATUS_USER
_BLOCK = struct.Struct("=8xIIII")  # status, packets, offset of the first, used octets
_NEXT = struct.Struct("=I").unpack_from
_HEADER = np.dtype(
    {
        "names": ("seconds", "nanoseconds", "captured", "wire", "mac"),
        "formats": ("u4", "u4", "u4", "u4", "u2"),
        "offsets": (4, 8, 12, 16, 24),
        "itemsize": 26,
    }
)
_LINK_TYPES = {1: 1, 772: 1, 65534: 101, 512: 101}  # ARPHRD_* of linux/if_arp.h: Ethernet, loopback; TUN, PPP: no header
LIFTED = "run as root, or as the service deploy/prism-collect-capture.service, which grants only this one"


def link_type_of(interface: str) -> int:
    """Return the link type of an interface. Raises OSError for an unknown interface, ValueError for an unknown type."""
    if "/" in interface or interface in ("", ".", ".."):
        raise ValueError(f"{interface!r} is not an interface name; ip link lists the interfaces")
    try:
        kind = int(Path(f"/sys/class/net/{interface}/type").read_text())
    except FileNotFoundError:
        raise OSError(errno.ENODEV, "no such interface; ip link lists the interfaces", interface) from None
    if kind not in _LINK_TYPES:
        raise ValueError(
            f"{interface}: hardware type {kind} (ARPHRD) is not decoded; capture on Ethernet, TUN, PPP or loopback"
        )
    return _LINK_TYPES[kind]


class Ring:
    """Captures an interface: `program` selects frames and their kept octets; `octets`: size of the ring.

    Frames sent by this host are left out. Raises OSError with the interface, PermissionError without CAP_NET_RAW.
    """

    def __init__(
        self,
        interface: str,
        program: Sequence[Instruction],
        *,
        octets: int = 64 * MIB,
        block: int = MIB,
        promiscuous: bool = True,
    ) -> None:
        self.link_type, self.block, self.count = link_type_of(interface), block, max(2, octets // block)
        self.received = self.lost = self._at = 0
        try:
            self._sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)  # receives nothing before it is bound
        except PermissionError as error:
            raise PermissionError(error.errno, f"capturing needs the capability CAP_NET_RAW: {LIFTED}", interface) from None
        try:
            self._open(interface, program, promiscuous)
            self._memory = mmap.mmap(self._sock.fileno(), block * self.count)
            self._sock.bind((interface, _EVERY_PROTOCOL))
        except OSError as error:
            self._sock.close()
            raise OSError(error.errno, error.strerror or os.strerror(error.errno or 0), interface) from None
        self._view, self._poll = memoryview(self._memory), select.poll()
        self._poll.register(self._sock, select.POLLIN | select.POLLERR)

    def _open(self, interface: str, program: Sequence[Instruction], promiscuous: bool) -> None:
        self._attach(program)
        self._sock.setsockopt(_SOL_PACKET, _VERSION, _V3)
        self._sock.setsockopt(_SOL_PACKET, _IGNORE_OUTGOING, 1)
        ring = struct.pack("=7I", self.block, self.count, 2048, self.block // 2048 * self.count, _RETIRE_MS, 0, 0)
        self._sock.setsockopt(_SOL_PACKET, _RX_RING, ring)
        if promiscuous:
            member = struct.pack("=iHH8s", socket.if_nametoindex(interface), _PROMISCUOUS, 0, b"")
            self._sock.setsockopt(_SOL_PACKET, _MEMBERSHIP, member)

    def _attach(self, program: Sequence[Instruction]) -> None:
        octets = pack_program(program)
        instructions = ctypes.create_string_buffer(octets, len(octets))
        description = struct.pack("@HP", len(program), ctypes.addressof(instructions))
        self._sock.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, description)

    def read(self, *, within: float, blocks: int = 16) -> Batch | None:
        """Return the frames of the next blocks, at most `blocks`; None if none is ready `within` seconds. Raises OSError.

        If the interface goes down, the OSError comes after all its frames.
        """
        if not self._status():
            for _, event in self._poll.poll(int(within * 1000)):
                if event & select.POLLERR and not self._status():
                    number = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    if number:
                        raise OSError(number, os.strerror(number))
        parts: list[bytes] = []
        offsets: list[int] = []
        base = 0
        while len(parts) < blocks and self._status():
            begin = self._at * self.block
            _, packets, first, used = _BLOCK.unpack_from(self._view, begin)
            data = bytes(self._view[begin : begin + min(used, self.block)])
            self._view[begin + 8 : begin + 12] = bytes(4)  # return the block to the kernel
            self._at = (self._at + 1) % self.count
            at = first
            for _ in range(packets):
                offsets.append(base + at)
                at += _NEXT(data, at)[0]
            parts.append(data)
            base += len(data)
        return _batch(b"".join([*parts, PAD]), np.array(offsets, np.int64), self.link_type) if offsets else None

    def _status(self) -> int:
        return int(_BLOCK.unpack_from(self._view, self._at * self.block)[0]) & _OURS

    def count_losses(self) -> None:
        """Update `received` (frames that passed the filter) and `lost` (those that found the ring full)."""
        packets, dropped, _ = struct.unpack("=3I", self._sock.getsockopt(_SOL_PACKET, _STATISTICS, 12))
        self.received += packets
        self.lost += dropped

    def detach(self) -> None:
        """Stop capturing; the ring can still be read once its last block is 100 ms old."""
        self._attach(keep_all(0))

    def close(self) -> None:
        """Close the socket and free the ring."""
        self._view.release()
        self._memory.close()
        self._sock.close()


def _batch(data: bytes, at: Ints, link_type: int) -> Batch:
    header = gather(data, at, _HEADER)
    return Batch(
        data=data,
        link_type=np.full(len(at), link_type, np.int64),
        time_ns=header["seconds"].astype(np.int64) * 1_000_000_000 + header["nanoseconds"],
        offset=at + header["mac"],
        captured=header["captured"].astype(np.int64),
        wire=header["wire"].astype(np.int64),
    )
