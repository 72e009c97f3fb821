"""Parse blocks of a pcapng: positions, interfaces of a section, and packets as a batch.

Format: draft-ietf-opsawg-pcapng. `pcap` reads the file and joins the blocks.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.captures.damage import TOO_LONG, UNDESCRIBED
from collectors.columns.record import Ints, Mask
from collectors.packets.frame_batch import Batch, Octets, words

MAGIC = b"\x0a\x0d\x0d\x0a"  # block type of a section, the same in either byte order
ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
SECTION, INTERFACE, OBSOLETE, SIMPLE, ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6  # block types
LEAST = {SECTION: 28, INTERFACE: 20, OBSOLETE: 32, SIMPLE: 16, ENHANCED: 32}  # minimum octets of such a block; of others 12
MAX_BLOCK = MAX_SNAPLEN = 1 << 24
MOST_PLAIN = 64  # interfaces
MOST_DESCRIBED = 1 << 16  # sections and interfaces of a file; merged captures have some thousands
SECOND = 1_000_000_000
_ALL = 0xFFFFFFFFFFFFFFFF


class Interface(NamedTuple):
    """An interface description: link type, most octets kept (0: all), unit of time and offset in seconds."""

    link_type: int
    snaplen: int
    resolution: int = 6
    offset: int = 0


@dataclass
class Section:
    """A pcapng section: byte order, interfaces, and the time of the last packet, which simple packets inherit."""

    order: str
    interfaces: list[Interface] = field(default_factory=list)
    last_ns: int = 0

    def describe(self, block: bytes) -> None:
        """Add the interface of an interface description block."""
        link_type, _, snaplen = struct.unpack_from(self.order + "HHI", block, 8)
        interface, at = Interface(link_type, snaplen), 16
        while at + 8 <= len(block):
            code, length = struct.unpack_from(self.order + "HH", block, at)
            value = block[at + 4 : at + 4 + length]
            if code == 9 and length == 1:
                interface = interface._replace(resolution=value[0])
            elif code == 14 and len(value) == 8:
                interface = interface._replace(offset=struct.unpack(self.order + "q", value)[0])
            at += 4 + (length + 3 & ~3)
        self.interfaces.append(interface)

    def ends(self, buffer: bytearray, at: int, length: int) -> bool:
        """Check whether the block at `at` repeats its length at its end."""
        return buffer[at + length - 4 : at + length] == struct.pack(self.order + "I", length)

    def plain(self) -> Ints | None:
        """Return link type, ns per unit of time and ns of the offset of all interfaces, [n, 3].

        None if these do not describe an interface completely, or if there are too many interfaces to update this for each new
        one.
        """
        few = 0 < len(self.interfaces) <= MOST_PLAIN
        if self.order != "<" or not few or any(interface.resolution > 9 for interface in self.interfaces):
            return None
        rows = [(i.link_type, 10 ** (9 - i.resolution), i.offset * SECOND & _ALL) for i in self.interfaces]
        return np.array(rows, np.uint64).view(np.int64)

    def batch(self, buffer: Octets, offset: Ints) -> tuple[Batch, Mask, dict[str, Mask]]:
        """Read the packets of the blocks at these offsets.

        Returns also the mask of their blocks, and masks of other blocks by fault.
        """
        kind, length, interface, high, low, captured, wire = words(buffer, offset, self.order, 7)
        simple = kind == SIMPLE
        interface[kind == OBSOLETE] >>= 16 if self.order == ">" else 0  # the other half counts drops
        interface[kind == OBSOLETE] &= 0xFFFF
        wire[simple], interface[simple] = interface[simple], 0
        if simple.any() and self.interfaces:
            captured[simple] = np.minimum(np.minimum(wire, length - 16), self.interfaces[0].snaplen or MAX_SNAPLEN)[simple]
        undescribed = interface >= len(self.interfaces)
        too_long = ~undescribed & (captured > length - np.where(simple, 16, 32))
        good = ~undescribed & ~too_long
        ticks = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
        time_ns, link_type = np.zeros(len(offset), np.int64), np.zeros(len(offset), np.int64)
        at = np.flatnonzero(good)
        numbers, which = np.unique(interface[at], return_inverse=True)
        described = [self.interfaces[number] for number in numbers.tolist()]
        link_type[at] = np.array([one.link_type for one in described], np.int64)[which]
        offset_ns = np.array([one.offset * SECOND & _ALL for one in described], np.uint64)[which]
        resolution = np.array([one.resolution for one in described], np.int64)[which]
        for unit in np.unique(resolution).tolist():
            mine = np.flatnonzero(resolution == unit)
            time_ns[at[mine]] = _nanoseconds(ticks[at[mine]], unit, offset_ns[mine])
        data_at = offset + np.where(simple, 12, 28)
        columns = [column if good.all() else column[good] for column in (link_type, time_ns, data_at, captured, wire)]
        self._inherit(columns[1], simple[good])
        faults = {UNDESCRIBED: undescribed, TOO_LONG: too_long}
        return Batch(buffer, *columns), good, faults

    def _inherit(self, time_ns: Ints, simple: NDArray[np.bool_]) -> None:
        """Give simple packets, which have no time, that of the previous packet."""
        if simple.any():
            before = np.maximum.accumulate(np.where(simple, -1, np.arange(len(simple))))
            time_ns[simple] = np.where(before < 0, self.last_ns, time_ns[before])[simple]
        if len(time_ns):
            self.last_ns = int(time_ns[-1])


def is_sound(kind: int, length: int, mark: bytes) -> bool:
    """Check whether a block can start with this type, this length and, for a section, this byte-order mark."""
    return LEAST.get(kind, 12) <= length <= MAX_BLOCK and length % 4 == 0 and (kind != SECTION or mark in ORDERS)


def _nanoseconds(ticks: NDArray[np.uint64], resolution: int, offset_ns: NDArray[np.uint64]) -> Ints:
    """Convert ticks to ns since the epoch; draft-ietf-opsawg-pcapng, options if_tsresol and if_tsoffset."""
    power = np.uint64(resolution & 0x7F)
    if resolution & 0x80:  # units of 2 ** -power; 34 bits of them times 10 ** 9 just fit
        seconds = ticks >> power
        excess = max(int(power) - 34, 0)
        fraction = ticks - (seconds << power) >> np.uint64(excess)
        since = seconds * np.uint64(SECOND) + (fraction * np.uint64(SECOND) >> power - np.uint64(excess))
    elif power <= 9:
        since = ticks * np.uint64(10) ** (np.uint64(9) - power)
    else:
        since = ticks // np.uint64(10 ** (int(power) - 9)) if power <= 28 else ticks * np.uint64(0)
    return (since + offset_ns).view(np.int64)
