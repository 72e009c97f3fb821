"""Drop part of one sender's flood in the kernel, before it fills the receive buffer shared by all senders.

A filter on the socket (classic BPF, socket(7)) keeps a random share of the datagrams of each excessive sender. It is set if the
receiving thread itself is too slow: reading costs it a copy of every octet, the filter costs it nothing.
"""

from __future__ import annotations

import ctypes
import logging
import socket
import struct
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from collectors.captures.bpf import Instruction, pack_program
from collectors.columns.record import Ints
from collectors.operations.logs import log_event

MAX_SENDERS = 32  # senders in a filter, largest first
MIN_CHANCE = 1 / 1024  # minimum probability of a datagram: enough to measure the sender
EXCESS_FACTOR = 2  # factor over the average of the others below which a sender loses nothing
CUT_DIVISOR = 16  # divisor of the sent traffic, so that the buffer empties before it is full; `ease` finds the sustainable rate
EASE_FACTOR = 1.1  # factor of slow increase
WAIT_NS = 100_000_000  # ns between two cuts, in which the buffer is read
EASE_NS = 250_000_000  # ns without pressure after which probabilities double
UNIT_OCTETS = 2048  # octets: a datagram counts as one unit, plus one per so many octets
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27
_NETWORK, _RANDOM = 0xFFF00000, 0xFFFFF000 + 56  # offsets of the IP header, and of a random 32-bit number (linux/filter.h)
_LOAD, _LOAD_OCTET, _EQUAL, _ABOVE, _SHIFT, _JUMP, _RETURN = 0x20, 0x30, 0x15, 0x25, 0x74, 0x05, 0x06
_KEEP, _DROP = (_RETURN, 0, 0, 0xFFFFFFFF), (_RETURN, 0, 0, 0)


def program(chances: Mapping[bytes, float]) -> list[Instruction]:
    """Build a filter for UDP sockets.

    It keeps datagrams of these addresses (4 or 16 octets) with a probability, and all others.
    """
    short = [_sender(12, address, chance) for address, chance in chances.items() if len(address) == 4]
    long = [_sender(8, address, chance) for address, chance in chances.items() if len(address) == 16]
    four, six = ([line for block in blocks for line in block] for blocks in (short, long))
    begin = [(_LOAD_OCTET, 0, 0, _NETWORK), (_SHIFT, 0, 0, 4), (_EQUAL, 1, 0, 4), (_JUMP, 0, 0, len(four) + 1)]
    return [*begin, *four, _KEEP, *six, _KEEP]


def _sender(at: int, address: bytes, chance: float) -> list[Instruction]:
    """Filter the datagrams of one address; continue with the next instructions for other addresses."""
    words = struct.unpack(f">{len(address) // 4}I", address)
    end = 2 * len(words) + 4
    found: list[Instruction] = []
    for i, word in enumerate(words):
        found += [(_LOAD, 0, 0, _NETWORK + at + 4 * i), (_EQUAL, 0, end - 2 * i - 2, word)]
    return [*found, (_LOAD, 0, 0, _RANDOM), (_ABOVE, 1, 0, int(chance * 0xFFFFFFFF)), _KEEP, _DROP]


class Throttle:
    """The filter of one socket: call `press` if its buffer fills, else `ease`. Not thread-safe."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.chances: dict[bytes, float] = {}
        self._failed: dict[bytes, float] = {}  # probabilities that were too high
        self._units = Counter[bytes]()  # read since the filter was last set
        self._eased_ns = self._set_ns = 0

    def press(self, senders: Sequence[bytes], sender: Ints, length: Ints, now_ns: int) -> None:
        """Reduce the traffic of the largest senders of these and earlier datagrams. A single sender keeps all.

        A filter does not change the queued datagrams, so the next one follows after a pause.
        """
        units = np.bincount(sender, 1 + length // UNIT_OCTETS, len(senders)).astype(np.int64).tolist()
        self._units.update(dict(zip(map(_bare, senders), units, strict=True)))
        self._eased_ns = now_ns
        if now_ns - self._set_ns < WAIT_NS or len(self._units) < 2:
            return
        chances = sender_chances(
            {address: much / self.chances.get(address, 1.0) for address, much in self._units.items()}, self._units.total()
        )
        new = chances.keys() - self.chances.keys()
        self._failed.update({address: self.chances.get(address, 1.0) for address in chances})
        self.chances = dict(sorted({**self.chances, **chances}.items(), key=lambda pair: pair[1])[:MAX_SENDERS])
        self._set(now_ns)
        for address in new & self.chances.keys():
            name = socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)
            log_event(
                "exporter sends more than can be received, the kernel drops part of it", level=logging.WARNING, exporter=name
            )

    def raise_chances(self, now_ns: int) -> None:
        """Increase probabilities from time to time; slowly near a value that was too high before."""
        if self.chances and now_ns - self._eased_ns > EASE_NS:
            self._eased_ns = now_ns
            eased = {
                a: chance * (2 if 4 * chance < self._failed.get(a, 1.0) else EASE_FACTOR) for a, chance in self.chances.items()
            }
            self.chances = {address: chance for address, chance in eased.items() if chance < 1}
            self._failed = {address: self._failed[address] for address in self.chances}
            self._set(now_ns)

    def _set(self, now_ns: int) -> None:
        self._units.clear()
        self._set_ns = now_ns
        if not self.chances:
            self._sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
            return
        lines = program(self.chances)
        octets = ctypes.create_string_buffer(pack_program(lines), 8 * len(lines))
        self._sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", len(lines), ctypes.addressof(octets)))


def sender_chances(sent: Mapping[bytes, float], read: float) -> dict[bytes, float]:
    """Compute the probabilities of senders far above the average, from their sent traffic and the total that was read."""
    total, others = sum(sent.values()), len(sent) - 1
    floods = {address: much for address, much in sent.items() if much * others > EXCESS_FACTOR * (total - much)}
    rest = total - sum(floods.values())
    room = max(min(total / CUT_DIVISOR, read / 4) - rest, read / CUT_DIVISOR)
    return {address: max(min(room / len(floods) / much, 1.0), MIN_CHANCE) for address, much in floods.items()}


def _bare(address: bytes) -> bytes:
    """Return an address as in its packets: IPv4 addresses are mapped on a dual-stack socket."""
    return address[12:] if len(address) == 16 and address[:12] == bytes(10) + b"\xff\xff" else address
