"""Packets of InfiniBand's own links, and records of ERF, built by hand: link types 247 and 197."""

from __future__ import annotations

import struct

from collectors.packets import headers
from collectors.packets.headers import IPv6, pack_ipv6
from tests.collectors.builders.frames import bth, ethernet, ipv4, ipv6, reth, tcp

SGID, DGID = bytes.fromhex("fe800000000000000002c90300a0b001"), bytes.fromhex("fe800000000000000002c90300a0b002")


def lrh(rest: bytes, after: int, *, slid: int = 0x11, dlid: int = 0x12, words: int | None = None, version: int = 0) -> bytes:
    """A local route header before what it carries, up to the variant checksum of 2 octets behind it."""
    count = (8 + len(rest)) // 4 if words is None else words
    return struct.pack("!BBHHH", version, after, dlid, count, slid) + rest + bytes(2)


def grh(rest: bytes, *, after: int = 27, traffic_class: int = 0) -> bytes:
    return pack_ipv6(IPv6(6 << 28 | traffic_class << 20 | 99, len(rest), after, 64, SGID, DGID)) + rest


def transport(opcode: int, rest: bytes = b"", *, marked: bool = False, **fields: int) -> bytes:
    """BTH, whatever follows it, ICRC."""
    head = bytearray(bth(opcode, **fields))
    head[4] |= marked << 7
    return bytes(head) + rest + bytes(4)


def erf(kind: int, frame: bytes, *, extensions: int = 0, wire: int | None = None) -> bytes:
    """A record with extension headers; Ethernet has 2 octets before it."""
    pad = bytes(2) if kind in (2, 11, 16, 20) else b""
    more = b"".join(bytes([(k + 1 < extensions) << 7 | 3]) + bytes(7) for k in range(extensions))
    octets = 16 + len(more) + len(pad) + len(frame)
    head = struct.pack("!QBBHHH", 0, bool(extensions) << 7 | kind, 4, octets, 0, len(frame) if wire is None else wire)
    return head + more + pad + frame


WRITE = transport(10, reth(64) + b"x" * 64)
TCP = ethernet(ipv4(tcp(b"x" * 40))) + bytes(4)  # and its checksum
SAMPLES: dict[str, tuple[int, bytes]] = {
    "WRITE, local": (247, lrh(WRITE, 2)),
    "WRITE, global": (247, lrh(grh(WRITE), 3)),
    "first of a message": (247, lrh(transport(6, reth(1 << 20) + b"x" * 256), 2)),
    "acknowledgment": (247, lrh(transport(17, bytes(4), marked=True), 2)),
    "congestion notification": (247, lrh(grh(transport(0x81, bytes(16), marked=True)), 3)),
    "datagram": (247, lrh(transport(0x64, bytes(8) + b"x" * 256), 2, dlid=0xFFFF)),
    "raw": (247, lrh(bytes(40), 0)),
    "raw IPv6": (247, lrh(ipv6(tcp(b"x" * 4)), 1)),
    "another version": (247, lrh(WRITE, 2, version=3)),
    "too few words": (247, lrh(WRITE, 2, words=1)),
    "words for no BTH": (247, lrh(WRITE, 2, words=4)),
    "too many words": (247, lrh(WRITE, 2, words=0x7FF)),
    "another next header": (247, lrh(grh(WRITE, after=6), 3)),
    "GRH of version 4": (247, lrh(b"\x40" + grh(WRITE)[1:], 3)),
    "nothing": (247, b""),
    "ERF, InfiniBand": (197, erf(21, lrh(grh(WRITE), 3))),
    "ERF, InfiniBand, extended": (197, erf(21, lrh(WRITE, 2), extensions=2)),
    "ERF, Ethernet": (197, erf(2, TCP)),
    "ERF, Ethernet, color": (197, erf(11, TCP, extensions=1)),
    "ERF, IPv4": (197, erf(22, ipv4(tcp(b"x" * 40)))),
    "ERF, IPv6": (197, erf(23, ipv6(tcp(b"x" * 40)))),
    "ERF, wire length too small": (197, erf(2, TCP, wire=20)),
    "ERF, counters": (197, erf(13, bytes(40))),
    "ERF, extensions without end": (197, erf(0x82, b"\x80" * 64)),
    "ERF, nothing": (197, b""),
    "RoCE version 1": (1, ethernet(grh(WRITE), 0x8915)),
    "RoCE version 1, IP inside": (1, ethernet(grh(tcp(), after=6), 0x8915)),
    "RDP in IPv6": (1, ethernet(ipv6(WRITE, 27), headers.IPV6)),
}
