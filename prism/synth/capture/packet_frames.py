"""Build frames from packets, many at once: Ethernet, IPv4, TCP or RoCEv2, optionally in ERSPAN.

Payload is zeros, so that TCP checksums are right without it; the ICRC is zero. Formats: see `collectors.packets.headers`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.partial_records import Table
from collectors.columns.record import ROCE_PORT, TCP, UDP
from collectors.packets import headers
from prism.synth.capture.packet_streams import ACKNOWLEDGE, FIRST, LAST, ONLY
from prism.synth.scenario.cluster import Ints

Matrix = NDArray[np.uint8]  # [frames, octets]
SNAPLEN = 128
ETHERNET = [("dst_mac", ">u2"), ("dst_host", ">u4"), ("src_mac", ">u2"), ("src_host", ">u4"), ("ethertype", ">u2")]
IPV4 = [
    ("version_ihl", "u1"), ("tos", "u1"), ("length", ">u2"), ("identification", ">u2"), ("fragment", ">u2"), ("ttl", "u1"),
    ("protocol", "u1"), ("checksum", ">u2"), ("src", ">u4"), ("dst", ">u4"),
]  # fmt: skip
_TCP = np.dtype(
    [
        *ETHERNET, *IPV4, ("src_port", ">u2"), ("dst_port", ">u2"), ("sequence", ">u4"), ("acknowledgment", ">u4"),
        ("offset", "u1"), ("flags", "u1"), ("window", ">u2"), ("tcp_checksum", ">u2"), ("urgent", ">u2"),
        ("nops", ">u2"), ("option", ">u2"), ("stamp", ">u4"), ("echo", ">u4"),
    ]
)  # fmt: skip
_ROCE = np.dtype(
    [
        *ETHERNET, *IPV4, ("src_port", ">u2"), ("dst_port", ">u2"), ("udp_length", ">u2"), ("udp_checksum", ">u2"),
        ("opcode", "u1"), ("bth_flags", "u1"), ("partition", ">u2"), ("dst_qp", ">u4"), ("psn", ">u4"),
        ("high", ">u4"), ("address", ">u4"), ("key", ">u4"), ("dma_length", ">u4"),
    ]
)  # fmt: skip
_MIRROR = np.dtype(
    [
        *ETHERNET, *IPV4, ("flags", ">u2"), ("kind", ">u2"), ("number", ">u4"),
        ("version_vlan", ">u2"), ("session", ">u2"), ("port", ">u4"),
    ]
)  # fmt: skip
WRAP = _MIRROR.itemsize  # octets that ERSPAN adds before a frame
CAPABLE = 2  # ECT(0), RFC 3168 section 5: RoCEv2 senders react to congestion marks
REQUEST = 1 << 31  # flag of an acknowledgment request, above the PSN


def numbers_of(addresses: Sequence[str]) -> Ints:
    """Convert IPv4 addresses to numbers."""
    return np.array([int(ipaddress.IPv4Address(a)) for a in addresses], np.int64)


def frames(t: Table, addresses: Ints, snaplen: int = SNAPLEN) -> tuple[Matrix, Ints, Ints]:
    """Build the first `snaplen` octets of each packet's frame; return them, their number and the length on the wire."""
    out = np.zeros((len(t["time"]), snaplen), np.uint8)
    wire = np.zeros(len(out), np.int64)
    for protocol, build in ((TCP, _tcp), (UDP, _roce)):
        rows = np.flatnonzero(t["protocol"] == protocol)
        if len(rows):
            built, wire[rows] = build({name: column[rows] for name, column in t.items()}, addresses)
            octets = built.view(np.uint8).reshape(len(rows), built.dtype.itemsize)[:, :snaplen]
            out[rows, : octets.shape[1]] = octets
    return out, np.minimum(wire, snaplen), wire


def _network(layout: np.dtype[Any], t: Table, addresses: Ints, protocol: int, above: Ints) -> NDArray[Any]:
    """Build frames of a layout with Ethernet and IPv4; `above`: octets above IPv4."""
    f = np.zeros(len(above), layout)
    src, dst = addresses[t["src"]], addresses[t["dst"]]
    f["dst_mac"], f["src_mac"], f["ethertype"] = 0x0200, 0x0200, headers.IPV4
    f["src_host"], f["dst_host"] = src, dst
    tos = np.where(t["marked"], headers.CONGESTION_EXPERIENCED, CAPABLE if protocol == UDP else 0)
    _address(f, (src, dst), protocol, 20 + above, t["ip_id"], tos)
    return f


def _address(f: NDArray[Any], ends: tuple[Ints, Ints], protocol: int, length: Ints, number: Ints, tos: Ints | int = 0) -> None:
    """Write the IPv4 header with its checksum (RFC 1071)."""
    f["version_ihl"], f["tos"], f["fragment"], f["ttl"], f["protocol"] = 0x45, tos, 0x4000, 64, protocol
    f["length"], f["identification"], f["src"], f["dst"] = length, number, *ends
    total = 0x4500 + tos + 0x4000 + (64 << 8 | protocol) + length + number + _halves(ends[0]) + _halves(ends[1])
    f["checksum"] = _folded(total)


def _halves(values: Ints) -> Ints:
    return (values >> 16) + (values & 0xFFFF)


def _folded(total: Ints) -> Ints:
    """Fold a sum of 16-bit words to the ones' complement."""
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def _tcp(t: Table, addresses: Ints) -> tuple[NDArray[Any], Ints]:
    f = _network(_TCP, t, addresses, TCP, 32 + t["octets"])
    milliseconds = t["sent"] // 1_000_000 & 0xFFFFFFFF
    for name in ("src_port", "dst_port", "sequence", "acknowledgment", "flags"):
        f[name] = t[name]
    f["offset"], f["window"], f["nops"], f["option"], f["stamp"] = 8 << 4, 0xFFFF, 0x0101, 0x080A, milliseconds
    numbers = [t[name].astype(np.int64) for name in ("src_port", "dst_port", "sequence", "acknowledgment")]
    numbers += [addresses[t["src"]], addresses[t["dst"]], milliseconds]
    fixed = TCP + 0xFFFF + 0x0101 + 0x080A + (8 << 12) + 32
    f["tcp_checksum"] = _folded(np.sum([_halves(n) for n in numbers], axis=0) + fixed + t["flags"] + t["octets"])
    return f, 66 + t["octets"]


def _roce(t: Table, addresses: Ints) -> tuple[NDArray[Any], Ints]:
    opcode, octets = t["opcode"].astype(np.int64), t["octets"]
    begins, answers = (opcode == FIRST) | (opcode == ONLY), opcode == ACKNOWLEDGE
    extended = np.array(headers.EXTENDED_OCTETS)[opcode]
    pad = -octets & 3
    above = 8 + headers.BTH_OCTETS + extended + octets + pad + headers.ICRC_OCTETS
    f = _network(_ROCE, t, addresses, UDP, above)
    f["src_port"], f["dst_port"], f["udp_length"] = t["src_port"], ROCE_PORT, above
    f["opcode"], f["bth_flags"], f["partition"], f["dst_qp"] = opcode, pad << 4, 0xFFFF, t["dst_qp"]
    f["psn"] = t["sequence"] | np.where((opcode == LAST) | (opcode == ONLY), REQUEST, 0)
    f["key"], f["dma_length"] = np.where(begins, t["link"] & np.uint64(0xFFFFFFFF), 0), np.where(begins, t["total"], 0)
    f["high"] = np.where(begins, 0x7F00, np.where(answers, 0x1F << 24 | t["acknowledgment"], 0))
    return f, 34 + above


def wrap_erspan(
    built: tuple[Matrix, Ints, Ints], number: Ints, ends: tuple[int, int], session: int, snaplen: int = SNAPLEN
) -> tuple[Matrix, Ints, Ints]:
    """Wrap frames in ERSPAN type II from a switch to the collector (`ends`), with sequence numbers of a session."""
    inner, _, wire = built
    src, dst = np.array(ends[:1]), np.array(ends[1:])
    f = np.zeros(len(inner), _MIRROR)
    f["dst_mac"], f["src_mac"], f["ethertype"] = 0x0200, 0x0200, headers.IPV4
    f["src_host"], f["dst_host"] = src, dst
    _address(f, (src, dst), headers.GRE, WRAP - 14 + wire, number & 0xFFFF)
    f["flags"], f["kind"], f["number"] = headers.GRE_SEQUENCE, headers.ERSPAN, number & 0xFFFFFFFF
    f["version_vlan"], f["session"] = 0x1000, 0x1800 | session  # trunk: a VLAN tag would be in the frame
    out = np.zeros((len(inner), snaplen), np.uint8)
    out[:, :WRAP] = f.view(np.uint8).reshape(len(inner), WRAP)
    out[:, WRAP:] = inner[:, : snaplen - WRAP]
    return out, np.minimum(wire + WRAP, snaplen), wire + WRAP
