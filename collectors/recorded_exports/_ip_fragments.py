"""Reassemble IP fragments (RFC 791 section 3.2, RFC 8200 section 4.5) in bounded memory.

Fragments that overlap others with different content make their packet invalid (RFC 5722); a repeated fragment, as in merged
mirrors, counts once.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_PACKETS = 1024  # incomplete ones
MAX_OCTETS = 1 << 24  # of all incomplete packets
MAX_FRAGMENTS = 256  # of one packet: 65,535 octets in pieces of 256
PATIENCE_NS = 30_000_000_000  # RFC 1122 section 3.3.2 and RFC 8200 section 4.5 allow up to 60 s
LARGEST = 65_535
INCOMPLETE, OVERLAP, OVERSIZED = "IP fragment: others missing", "IP fragment: overlap", "IP fragment: too many or too long"


class Fragment(NamedTuple):
    """A fragment of a packet's payload. `cut`: the capture has only a part of it."""

    packet: Hashable  # addresses, identification, protocol
    offset: int
    last: bool
    octets: bytes
    cut: bool = False


@dataclass
class _Packet:
    since_ns: int
    size: int = -1  # known from the last fragment on
    octets: int = 0
    bad: str = ""
    parts: dict[int, bytes] = field(default_factory=dict)
    frames: int = 0


class Reassembler:
    """Reassembles fragments in the order of the capture. `lost` counts frames of incomplete packets by reason."""

    def __init__(
        self, *, most_packets: int = MAX_PACKETS, most_octets: int = MAX_OCTETS, patience_ns: int = PATIENCE_NS
    ) -> None:
        self.most_packets, self.most_octets, self.patience_ns = most_packets, most_octets, patience_ns
        self.lost: Counter[str] = Counter()
        self.octets = 0
        self._open: OrderedDict[Hashable, _Packet] = OrderedDict()

    @property
    def pending(self) -> int:
        """Return the frames of incomplete packets."""
        return sum(packet.frames for packet in self._open.values())

    def add(self, fragment: Fragment, time_ns: int) -> tuple[bytes, int] | None:
        """Add a fragment; return the payload if it is complete now, and its number of frames."""
        while self._open and next(iter(self._open.values())).since_ns < time_ns - self.patience_ns:
            self._drop()
        packet = self._open.get(fragment.packet)
        if packet is None:
            packet = self._open[fragment.packet] = _Packet(time_ns)
        packet.frames += 1
        if not packet.bad:
            self._put(packet, fragment)
        whole = None if packet.bad else _joined(packet)
        if whole is not None:
            self._forget(fragment.packet)
            return whole, packet.frames
        while len(self._open) > self.most_packets or self.octets > self.most_octets:
            self._drop()
        return None

    def end(self) -> None:
        """Count the rest at the end of the input."""
        while self._open:
            self._drop()

    def _put(self, packet: _Packet, fragment: Fragment) -> None:
        begin, end = fragment.offset, fragment.offset + len(fragment.octets)
        if packet.parts.get(begin) == fragment.octets:
            return
        if fragment.cut or not (fragment.octets or fragment.last):
            packet.bad = INCOMPLETE
        elif end > LARGEST or len(packet.parts) >= MAX_FRAGMENTS:
            packet.bad = OVERSIZED
        elif any(begin < at + len(part) and at < end for at, part in packet.parts.items()) or (
            packet.size >= 0 and (end > packet.size or fragment.last)
        ):
            packet.bad = OVERLAP
        else:
            packet.parts[begin] = fragment.octets
            packet.octets += len(fragment.octets)
            self.octets += len(fragment.octets)
            if fragment.last:
                packet.size = end
                packet.bad = OVERLAP if any(at + len(part) > end for at, part in packet.parts.items()) else ""
        if packet.bad:
            self.octets -= packet.octets
            packet.octets, packet.parts = 0, {}

    def _drop(self) -> None:
        packet = self._forget(next(iter(self._open)))
        self.lost[packet.bad or INCOMPLETE] += packet.frames

    def _forget(self, key: Hashable) -> _Packet:
        packet = self._open.pop(key)
        self.octets -= packet.octets
        return packet


def _joined(packet: _Packet) -> bytes | None:
    """Return the payload of a complete packet."""
    if packet.size < 0 or packet.octets != packet.size:
        return None
    return b"".join(packet.parts[at] for at in sorted(packet.parts))
