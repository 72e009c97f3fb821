"""Find NetFlow, IPFIX and sFlow datagrams in captured frames, so that a capture of exports can be replayed."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from collectors.addresses.address_texts import address
from collectors.addresses.bounded_address_book import MAPPED
from collectors.columns.record import UDP, Mask
from collectors.exports.datagrams import Datagrams
from collectors.packets import headers, plain_decoder
from collectors.packets.frame_batch import Batch
from collectors.recorded_exports._content_recognition import protocol_of
from collectors.recorded_exports._ip_fragments import Fragment, Reassembler

NETFLOW_PORTS, SFLOW_PORTS = (2055, 4739, 9995, 9996), (6343,)
PORTS = NETFLOW_PORTS + SFLOW_PORTS
NOT_UDP, OTHER_PORT, NO_EXPORT = "not UDP", "UDP port of no export", "not NetFlow, IPFIX or sFlow"
MAX_PORTS = 64  # other ports that are counted individually
_NETFLOW, _SFLOW = (5, 9, 10), b"\0\0\0\5"


class _Udp(NamedTuple):
    sender: str
    port: int
    payload: bytes
    length: int  # octets of the payload on the wire


class _Piece(NamedTuple):
    sender: str
    fragment: Fragment


def is_sflow(octets: bytes) -> bool:
    """Check whether a datagram is sFlow version 5, by its first four octets."""
    return octets[:4] == _SFLOW


def is_netflow(octets: bytes) -> bool:
    """Check whether a datagram is NetFlow 5 or 9 or IPFIX, by its first two octets."""
    return len(octets) >= 4 and int.from_bytes(octets[:2], "big") in _NETFLOW


class Extractor:
    """Finds export datagrams in captured frames.

    On the usual ports the first octets decide, on other UDP ports the whole content (`content_recognition`). Fragments are
    reassembled. `skipped` counts the other frames by reason; `frames` those of exports, `joined` the reassembled datagrams and
    `fragments` their frames; `elsewhere` datagrams to other ports, by protocol and port.
    """

    def __init__(self, ports: Collection[int] = PORTS) -> None:
        self.ports = frozenset(ports)
        self.skipped: Counter[str] = Counter()
        self.elsewhere: Counter[tuple[str, int]] = Counter()
        self.frames = self.joined = self.fragments = 0
        self.begun = 0  # datagrams to usual ports with missing fragments
        self._room = Reassembler()

    def exports(self, batch: Batch) -> Datagrams:
        """Find the export datagrams of a batch. The time of a datagram is the time of the capture of its last fragment.

        A frame cut by the capture gives a cut datagram. Raises nothing.
        """
        rows: list[tuple[str, bytes, int]] = []
        columns = (batch.offset, batch.captured, batch.link_type, batch.time_ns)
        for offset, captured, link_type, time_ns in zip(*(column.tolist() for column in columns), strict=True):
            found, frames = _unpack(bytes(batch.data[offset : offset + captured]), link_type), 1
            if isinstance(found, _Piece):
                joined = self._join(found, time_ns)
                if joined is None:
                    continue
                found, frames = joined
            reason = found if isinstance(found, str) else self._refused(found)
            if reason:
                self.skipped[reason] += frames
            elif isinstance(found, _Udp):
                rows.append((found.sender, found.payload, time_ns))
                self.frames += frames
                if frames > 1:
                    self.joined, self.fragments = self.joined + 1, self.fragments + frames
        return Datagrams.of(rows)

    def _join(self, piece: _Piece, time_ns: int) -> tuple[_Udp | str, int] | None:
        """Return the datagram that a fragment completes, or the reason why it is not valid, and its number of frames."""
        if piece.fragment.offset == 0 and len(piece.fragment.octets) >= 8:
            self.begun += headers.unpack_udp(piece.fragment.octets, 0).dst_port in self.ports
        whole = self._room.add(piece.fragment, time_ns)
        if whole is None:
            return None
        found = _unpack_udp(whole[0], 0, piece.sender)
        if isinstance(found, _Udp):
            self.begun -= found.port in self.ports
            if found.length != len(whole[0]) - 8:
                found = plain_decoder.BAD
        return found, whole[1]

    def are_mostly_exports(self, frames: int) -> bool:
        """Check whether most of the IP frames, of `frames` in total, are exports.

        Port filters capture first fragments only: those to usual ports count as exports, and other fragments are ignored.
        """
        pending = self._room.pending + self._room.lost.total()
        begun = min(max(self.begun, 0), pending)
        return 2 * (self.frames + begun) > frames - self.skipped[plain_decoder.NOT_IP] - pending + begun

    def _refused(self, udp: _Udp) -> str:
        """Return the reason why a datagram is no export; empty if it is one."""
        if udp.port in self.ports:
            return "" if is_sflow(udp.payload) or is_netflow(udp.payload) else NO_EXPORT
        protocol = protocol_of(udp.payload, udp.length)
        if not protocol:
            return OTHER_PORT
        known = (protocol, udp.port)
        self.elsewhere[known if known in self.elsewhere or len(self.elsewhere) < MAX_PORTS else (protocol, 0)] += 1
        return ""

    def end(self) -> None:
        """Count the fragments of incomplete datagrams at the end of the input."""
        self._room.end()
        self.skipped.update(self._room.lost)


def split(datagrams: Datagrams) -> tuple[Datagrams, Datagrams]:
    """Split datagrams for the NetFlow and IPFIX decoder from those of sFlow, which start with two zeros."""
    firsts = np.frombuffer(datagrams.data + bytes(2), np.uint8)
    sflow = (datagrams.length >= 2) & (firsts[datagrams.offset] == 0) & (firsts[datagrams.offset + 1] == 0)
    return _taken(datagrams, ~sflow), _taken(datagrams, sflow)


def _taken(d: Datagrams, rows: Mask) -> Datagrams:
    return Datagrams(d.data, d.offset[rows], d.length[rows], d.sender[rows], d.received_ns[rows], d.senders)


def _unpack(frame: bytes, link_type: int) -> _Udp | _Piece | str:
    """Find the UDP datagram of a frame or a fragment of one, or the reason why it has none."""
    at = 0
    if link_type in plain_decoder.ETHERTYPE_AT:
        type_at, at = plain_decoder.ETHERTYPE_AT[link_type]
        ethertype = int.from_bytes(frame[type_at : type_at + 2], "big")
        while ethertype in headers.TAGS and at + 4 <= len(frame):
            ethertype, at = headers.unpack_tag(frame, at).ethertype, at + 4
        if ethertype not in (headers.IPV4, headers.IPV6):
            return plain_decoder.NOT_IP
    elif link_type in plain_decoder.LOOPBACK:
        at = 4
    elif link_type not in plain_decoder.RAW:
        return plain_decoder.UNKNOWN_LINK.format(link_type)
    try:
        version = frame[at] >> 4 if at < len(frame) else 0
        return _unpack_ipv4(frame, at) if version == 4 else _unpack_ipv6(frame, at) if version == 6 else plain_decoder.NOT_IP
    except struct.error:
        return plain_decoder.TRUNCATED


def _unpack_ipv4(frame: bytes, at: int) -> _Udp | _Piece | str:
    ip = headers.unpack_ipv4(frame, at)
    header = (ip.version_ihl & 0x0F) * 4
    if ip.protocol != UDP:
        return NOT_UDP
    sender = address(0, MAPPED | int.from_bytes(ip.src, "big"))
    if not ip.fragment & 0x3FFF:
        return _unpack_udp(frame, at + header, sender)
    begin, end = at + header, at + ip.length
    if header < 20 or end < begin:
        return plain_decoder.BAD
    offset, more = (ip.fragment & 0x1FFF) * 8, bool(ip.fragment & 0x2000)
    key = (ip.src, ip.dst, ip.identification)
    return _Piece(sender, Fragment(key, offset, not more, frame[begin:end], end > len(frame)))


def _unpack_ipv6(frame: bytes, at: int) -> _Udp | _Piece | str:
    ip = headers.unpack_ipv6(frame, at)
    end = at + 40 + ip.length
    at, protocol = at + 40, ip.protocol
    sender = address(int.from_bytes(ip.src[:8], "big"), int.from_bytes(ip.src[8:], "big"))
    while protocol in headers.EXTENSIONS and at < len(frame):
        extension = headers.unpack_extension(frame, at)
        if protocol == headers.FRAGMENTED and extension.fragment & 0xFFF9:  # else a whole packet, RFC 6946
            if extension.protocol != UDP:
                return NOT_UDP
            key = (ip.src, ip.dst, frame[at + 4 : at + 8])
            offset, more = extension.fragment & 0xFFF8, bool(extension.fragment & 1)
            return _Piece(sender, Fragment(key, offset, not more, frame[at + 8 : end], end > len(frame)))
        octets = {headers.FRAGMENTED: 8, headers.AUTHENTICATION: (extension.length + 2) * 4}
        at, protocol = at + octets.get(protocol, (extension.length + 1) * 8), extension.protocol
    return _unpack_udp(frame, at, sender) if protocol == UDP else NOT_UDP


def _unpack_udp(frame: bytes, at: int, sender: str) -> _Udp | str:
    try:
        udp = headers.unpack_udp(frame, at)
    except struct.error:
        return plain_decoder.TRUNCATED
    if udp.length < 8:
        return plain_decoder.BAD
    return _Udp(sender, udp.dst_port, frame[at + 8 : at + udp.length], udp.length - 8)
