"""Export datagrams in captured frames: a capture of NetFlow, IPFIX or sFlow can be replayed."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from collectors import headers, packet
from collectors.batch import Batch
from collectors.datagrams import Datagrams
from collectors.endpoints import MAPPED, address
from collectors.record import UDP, Mask

NETFLOW_PORTS, SFLOW_PORTS = (2055, 4739, 9995, 9996), (6343,)
PORTS = NETFLOW_PORTS + SFLOW_PORTS
NOT_UDP, OTHER_PORT, NO_EXPORT = "not udp", "other port", "no export"
_NETFLOW, _SFLOW = (5, 9, 10), b"\0\0\0\5"


class _Udp(NamedTuple):
    sender: str
    port: int
    begin: int
    end: int


def is_sflow(octets: bytes) -> bool:
    """Whether a datagram is one of sFlow version 5, by its first four octets."""
    return octets[:4] == _SFLOW


def is_netflow(octets: bytes) -> bool:
    """Whether a datagram is one of NetFlow 5 or 9 or IPFIX, by its first two octets."""
    return len(octets) >= 4 and int.from_bytes(octets[:2], "big") in _NETFLOW


def exports(batch: Batch, skipped: Counter[str], ports: Collection[int] = PORTS) -> Datagrams:
    """The export datagrams in captured frames, told by their destination port and their first octets.

    They were received when they were captured. Frames without one are counted in `skipped`, by reason: fragments too, which
    are not put together. What a capture cut off is missing in the datagram. Raises nothing.
    """
    rows: list[tuple[str, bytes, int]] = []
    columns = (batch.offset, batch.captured, batch.link_type, batch.time_ns)
    for offset, captured, link_type, time_ns in zip(*(column.tolist() for column in columns), strict=True):
        frame = bytes(batch.data[offset : offset + captured])
        found = _unpack(frame, link_type)
        if isinstance(found, str):
            skipped[found] += 1
        elif found.port not in ports:
            skipped[OTHER_PORT] += 1
        elif not (is_sflow(octets := frame[found.begin : found.end]) or is_netflow(octets)):
            skipped[NO_EXPORT] += 1
        else:
            rows.append((found.sender, octets, time_ns))
    return Datagrams.of(rows)


def split(datagrams: Datagrams) -> tuple[Datagrams, Datagrams]:
    """Those for the decoder of NetFlow and IPFIX, and those of sFlow, which begin with two zeros."""
    firsts = np.frombuffer(datagrams.data + bytes(2), np.uint8)
    sflow = (datagrams.length >= 2) & (firsts[datagrams.offset] == 0) & (firsts[datagrams.offset + 1] == 0)
    return _taken(datagrams, ~sflow), _taken(datagrams, sflow)


def _taken(d: Datagrams, rows: Mask) -> Datagrams:
    return Datagrams(d.data, d.offset[rows], d.length[rows], d.sender[rows], d.received_ns[rows], d.senders)


def _unpack(frame: bytes, link_type: int) -> _Udp | str:
    """Where the UDP payload of a frame is, or why there is none."""
    at = 0
    if link_type in packet.ETHERTYPE_AT:
        type_at, at = packet.ETHERTYPE_AT[link_type]
        ethertype = int.from_bytes(frame[type_at : type_at + 2], "big")
        while ethertype in headers.TAGS and at + 4 <= len(frame):
            ethertype, at = headers.unpack_tag(frame, at).ethertype, at + 4
        if ethertype not in (headers.IPV4, headers.IPV6):
            return packet.NOT_IP
    elif link_type in packet.LOOPBACK:
        at = 4
    elif link_type not in packet.RAW:
        return f"link type {link_type}"
    try:
        version = frame[at] >> 4 if at < len(frame) else 0
        return _unpack_ipv4(frame, at) if version == 4 else _unpack_ipv6(frame, at) if version == 6 else packet.NOT_IP
    except struct.error:
        return packet.TRUNCATED


def _unpack_ipv4(frame: bytes, at: int) -> _Udp | str:
    ip = headers.unpack_ipv4(frame, at)
    if ip.fragment & 0x3FFF:
        return packet.FRAGMENT
    if ip.protocol != UDP:
        return NOT_UDP
    sender = address(0, MAPPED | int.from_bytes(ip.src, "big"))
    return _unpack_udp(frame, at + (ip.version_ihl & 0x0F) * 4, sender)


def _unpack_ipv6(frame: bytes, at: int) -> _Udp | str:
    ip = headers.unpack_ipv6(frame, at)
    at, protocol = at + 40, ip.protocol
    while protocol in headers.EXTENSIONS and at < len(frame):
        if protocol == headers.FRAGMENTED:
            return packet.FRAGMENT
        extension = headers.unpack_extension(frame, at)
        octets = (extension.length + 2) * 4 if protocol == headers.AUTHENTICATION else (extension.length + 1) * 8
        at, protocol = at + octets, extension.protocol
    if protocol != UDP:
        return NOT_UDP
    return _unpack_udp(frame, at, address(int.from_bytes(ip.src[:8], "big"), int.from_bytes(ip.src[8:], "big")))


def _unpack_udp(frame: bytes, at: int, sender: str) -> _Udp | str:
    udp = headers.unpack_udp(frame, at)
    if udp.length < 8:
        return packet.BAD
    return _Udp(sender, udp.dst_port, at + 8, min(at + udp.length, len(frame)))
