"""Captures octet by octet, and what is read from them."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import zstandard

from collectors.captures.pcap import Capture

START = 1_795_214_542_677_184_076
PACKETS = [(START + 1000 * i, bytes([i % 256]) * (14 + 7 * i % 50), 1000 + i) for i in range(40)]
Row = tuple[int, int, bytes, int]


def rows(capture: Capture) -> list[Row]:
    """Link type, time, frame, wire length of every packet."""
    found = []
    for batch in capture:
        columns = (batch.link_type, batch.time_ns, batch.offset, batch.captured, batch.wire)
        for link_type, time_ns, offset, captured, wire in zip(*(c.tolist() for c in columns), strict=True):
            found.append((link_type, time_ns, batch.data[offset : offset + captured], wire))
    assert capture.packets == len(found)
    return found


def expected(unit: int = 1, link_type: int = 1) -> list[Row]:
    return [(link_type, t // unit * unit, frame, wire) for t, frame, wire in PACKETS]


def pcap(order: str = "<", magic: int = 0xA1B23C4D, *, snaplen: int = 65535, link_type: int = 1, extra: bytes = b"") -> bytes:
    unit = 1 if magic == 0xA1B23C4D else 1000
    out = [struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, snaplen, link_type)]
    for time_ns, frame, wire in PACKETS:
        seconds, rest = divmod(time_ns, 10**9)
        out.append(struct.pack(order + "IIII", seconds, rest // unit, len(frame), wire) + extra + frame)
    return b"".join(out)


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str = "<", *, link_type: int = 1, snaplen: int = 0, options: bytes = b"") -> bytes:
    return block(order, 1, struct.pack(order + "HHI", link_type, 0, snaplen) + options)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def enhanced(order: str, ticks: int, frame: bytes, wire: int, number: int = 0) -> bytes:
    head = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), wire)
    return block(order, 6, head + frame)


def pcapng(order: str = "<") -> bytes:
    nanoseconds = option(order, 9, b"\x09") + option(order, 0, b"")
    out = [section(order), block(order, 10, b"secret" * 9), interface(order, options=nanoseconds)]
    for time_ns, frame, wire in PACKETS:
        out.append(enhanced(order, time_ns, frame, wire))
        if wire % 3 == 0:
            out.append(block(order, 0x0BAD, b"unknown"))
    return b"".join(out)


def saved(path: Path, octets: bytes) -> Path:
    path.write_bytes(octets)
    return path


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "gzip, two members": lambda octets: gzip.compress(octets[:500]) + gzip.compress(octets[500:]) + bytes(512),
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "zstd, two frames": lambda octets: (
        b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc" + zstandard.compress(octets[:500]) + zstandard.compress(octets[500:])
    ),
    "both": lambda octets: gzip.compress(zstandard.compress(octets)),
}


def ends(octets: bytes) -> list[int]:
    """Where each packet of `pcap()` or `pcapng()` ends."""
    found, at = [], 0 if octets.startswith(b"\x0a\x0d") else 24
    while at < len(octets):
        if octets.startswith(b"\x0a\x0d"):
            kind, length = struct.unpack_from("<II", octets, at)
            at += length
            found += [at] * (kind == 6)
        else:
            at += 16 + struct.unpack_from("<I", octets, at + 8)[0]
            found.append(at)
    return found
