"""Frames to decode: built from `headers`' own pack functions, each a (link type, frame) with its parts as arguments."""

from __future__ import annotations

import ipaddress

from collectors.packets import headers

ONE, TWO = "10.0.0.1", "10.0.0.2"
SIX, SEVEN = "fd00::6", "fd00::7"


def ethernet(payload: bytes, ethertype: int = headers.IPV4, tags: tuple[int, ...] = ()) -> bytes:
    """Tags are their own ethertypes, from the outside in."""
    types = (*tags, ethertype)
    inner = b"".join(headers.pack_tag(headers.Tag(7, following)) for following in types[1:])
    return headers.pack_ethernet(headers.Ethernet(b"\x02" * 6, b"\x04" * 6, types[0])) + inner + payload


def ipv4(
    payload: bytes,
    protocol: int = 6,
    *,
    length: int | None = None,
    fragment: int = 0x4000,
    options: bytes = b"",
    tos: int = 0,
    src: str = ONE,
    dst: str = TWO,
) -> bytes:
    total = 20 + len(options) + len(payload) if length is None else length
    addresses = ipaddress.IPv4Address(src).packed, ipaddress.IPv4Address(dst).packed
    head = headers.IPv4(0x45 + len(options) // 4, tos, total, 77, fragment, 64, protocol, 0, *addresses)
    return headers.pack_ipv4(head) + options + payload


def ipv6(
    payload: bytes, protocol: int = 6, *, length: int | None = None, traffic_class: int = 0, src: str = SIX, dst: str = SEVEN
) -> bytes:
    addresses = ipaddress.IPv6Address(src).packed, ipaddress.IPv6Address(dst).packed
    octets = len(payload) if length is None else length
    return headers.pack_ipv6(headers.IPv6(6 << 28 | traffic_class << 20 | 99, octets, protocol, 64, *addresses)) + payload


def tcp(payload: bytes = b"", *, options: bytes = b"", flags: int = 0x18, ports: tuple[int, int] = (1000, 2000)) -> bytes:
    head = headers.Tcp(*ports, 3_000_000_000, 4_000_000_000, (5 + len(options) // 4) << 4, flags)
    return headers.pack_tcp(head) + bytes(6) + options + payload


def udp(payload: bytes = b"", *, ports: tuple[int, int] = (1000, 2000)) -> bytes:
    return headers.pack_udp(headers.Udp(*ports, 8 + len(payload), 0)) + payload


def bth(opcode: int, *, pad: int = 0, dst_qp: int = 0x123456, psn: int = 0xABCDEF) -> bytes:
    return headers.pack_bth(headers.Bth(opcode, pad << 4, 0xFFFF, dst_qp, psn))


def roce(opcode: int, rest: bytes = b"", **fields: int) -> bytes:
    """UDP to port 4791: BTH, whatever follows it, ICRC."""
    return udp(bth(opcode, **fields) + rest + bytes(4), ports=(50_000, 4791))


def gre(payload: bytes, protocol: int = headers.BRIDGED, *, flags: int = 0) -> bytes:
    """GRE with as many options as the flags ask for."""
    options = bytes(range(4)) * (flags & headers.GRE_OPTIONS).bit_count()
    return headers.pack_gre(headers.Gre(flags, protocol)) + options + payload


def erspan(frame: bytes, *, session: int = 5) -> bytes:
    """Type II, with a sequence number."""
    return gre(headers.pack_erspan(headers.Erspan(0x1000, session, 0)) + frame, headers.ERSPAN, flags=0x1000)


def erspan3(frame: bytes, *, platform: bytes = b"") -> bytes:
    """Type III, with a platform's own header or without."""
    head = headers.Erspan3(0x2000, 5, 1 << 31, 0, 0x8000 | bool(platform))
    return gre(headers.pack_erspan3(head) + platform + frame, headers.ERSPAN_III, flags=0x1000)


def vxlan(frame: bytes, *, flags: int = headers.VXLAN_VALID) -> bytes:
    """UDP to port 4789 and what it carries."""
    return udp(headers.pack_vxlan(headers.Vxlan(flags, 77 << 8)) + frame, ports=(60_000, headers.VXLAN_PORT))


def reth(dma_length: int) -> bytes:
    return headers.pack_reth(headers.Reth(1 << 40, 9, dma_length))


INNER = ethernet(ipv4(roce(6, reth(1 << 20) + b"x" * 64), 17))
SAMPLES: tuple[tuple[int, bytes], ...] = (
    (1, ethernet(ipv4(tcp(b"x" * 40)))),
    (1, ethernet(ipv4(tcp(), length=40) + bytes(6))),  # padded to the least a frame has
    (1, ethernet(ipv4(tcp(b"x" * 9, options=bytes(12)), options=bytes(8), tos=3), tags=(0x8100,))),
    (1, ethernet(ipv4(udp(b"x" * 9), 17), tags=(0x88A8, 0x8100))),
    (1, ethernet(ipv4(udp(), 17), tags=(0x9100,) * 6)),
    (1, ethernet(ipv4(roce(6, reth(1 << 20) + b"x" * 64), 17))),
    (1, ethernet(ipv4(roce(17, bytes(4)), 17), tags=(0x8100,))),
    (1, ethernet(ipv4(roce(0xAA, bytes(4) + reth(5000) + b"x" * 8, pad=3), 17))),  # XRC
    (1, ethernet(ipv4(roce(0x4A, bytes(12) + reth(70_000) + b"x" * 8), 17))),  # RD
    (1, ethernet(ipv4(roce(0x81, bytes(16)), 17))),
    (1, ethernet(ipv4(tcp(b"x" * 20), length=0))),
    (1, ethernet(ipv4(tcp(b"x" * 20), fragment=0x2000))),
    (1, ethernet(ipv4(b"x" * 20, 1))),
    (1, ethernet(bytes(28), 0x0806)),
    (1, ethernet(ipv6(tcp(b"x" * 40), traffic_class=3), headers.IPV6)),
    (1, ethernet(ipv6(udp(b"x"), 17, length=0), headers.IPV6, tags=(0x8100,))),
    (1, ethernet(ipv6(roce(10, reth(64) + b"x" * 64), 17), headers.IPV6)),
    (1, ethernet(ipv6(bytes((43, 0)) + bytes(6) + bytes((6, 0)) + bytes(6) + tcp(b"x" * 5), 0), headers.IPV6)),
    (1, ethernet(ipv6(bytes((60, 4)) + bytes(22) + bytes((17, 0)) + bytes(6) + udp(b"x" * 5), 51), headers.IPV6)),
    (1, ethernet(ipv6(bytes((6, 0, 0, 0)) + bytes(4) + tcp(b"x" * 5), 44), headers.IPV6)),  # an atomic fragment
    (1, ethernet(ipv6(bytes((6, 0, 0, 9)) + bytes(4) + tcp(b"x" * 5), 44), headers.IPV6)),
    (1, ethernet(ipv6(bytes(8), 58), headers.IPV6)),
    (113, bytes(14) + b"\x08\x00" + ipv4(tcp(b"x" * 3))),
    (113, bytes(14) + b"\x81\x00" + b"\x00\x05\x86\xdd" + ipv6(tcp(b"x" * 3))),
    (276, b"\x08\x00" + bytes(18) + ipv4(udp(b"x" * 3), 17)),
    (101, ipv4(tcp(b"x" * 3))),
    (12, ipv6(tcp(b"x" * 3))),
    (14, bytes(60)),
    (228, ipv4(tcp(b"x" * 3))),
    (229, ipv6(udp(b"x" * 3), 17)),
    (0, b"\x02\x00\x00\x00" + ipv4(tcp(b"x" * 3))),
    (108, b"\x00\x00\x00\x1e" + ipv6(tcp(b"x" * 3))),
    (0, b"\x07\x00\x00\x00" + ipv6(tcp(b"x" * 3))),
    (105, bytes(60)),
    (1, ethernet(ipv4(gre(INNER, headers.ERSPAN), headers.GRE))),  # type I
    (1, ethernet(ipv4(erspan(ethernet(ipv4(tcp(b"x" * 9)), tags=(0x8100,))), headers.GRE), tags=(0x8100,))),
    (1, ethernet(ipv4(erspan(INNER), headers.GRE, options=bytes(8)))),
    (1, ethernet(ipv6(erspan3(INNER), headers.GRE), headers.IPV6)),
    (1, ethernet(ipv4(erspan3(INNER, platform=bytes(8)), headers.GRE))),
    (1, ethernet(ipv4(erspan(ethernet(bytes(28), 0x0806)), headers.GRE))),
    (1, ethernet(ipv4(erspan(ethernet(ipv6(bytes((6, 0)) + bytes(6) + tcp(b"x"), 0), headers.IPV6)), headers.GRE))),
    (1, ethernet(ipv4(gre(INNER, flags=0xB000), headers.GRE))),
    (101, ipv4(gre(ipv4(tcp(b"x" * 9)), headers.IPV4), headers.GRE)),
    (101, ipv4(gre(ipv6(udp(b"x" * 9), 17), headers.IPV6, flags=0x2000), headers.GRE)),
    (101, ipv4(gre(b"x" * 40, 0x880B, flags=0x1), headers.GRE)),
    (101, ipv4(gre(b"x" * 40, 0x0806), headers.GRE)),
    (1, ethernet(ipv4(erspan(ethernet(ipv4(gre(ipv4(tcp(b"x")), headers.IPV4), headers.GRE))), headers.GRE))),
    (101, ipv4(gre(ipv4(gre(ipv4(gre(ipv4(tcp()), headers.IPV4), 47), headers.IPV4), 47), headers.IPV4), 47)),
    (1, ethernet(ipv4(erspan(INNER), headers.GRE, length=44))),
    (1, ethernet(ipv4(vxlan(INNER), 17))),
    (1, ethernet(ipv6(vxlan(ethernet(ipv6(tcp(b"x" * 9)), headers.IPV6, tags=(0x8100,))), 17), headers.IPV6)),
    (1, ethernet(ipv4(vxlan(INNER, flags=0), 17))),
    (1, ethernet(ipv4(udp(b"x" * 7, ports=(5, headers.VXLAN_PORT)), 17))),
    (1, ethernet(ipv4(erspan(ethernet(ipv4(vxlan(INNER), 17))), headers.GRE))),
    (101, ipv4(vxlan(ethernet(ipv4(vxlan(ethernet(ipv4(vxlan(INNER), 17))), 17))), 17)),
    (1, ethernet(ipv4(roce(17, b"\x60\0\0\5"), 17))),  # a negative acknowledgment
    (1, ethernet(ipv4(roce(0xB1, b"\x7f\0\0\5"), 17))),
    (1, ethernet(ipv4(roce(0x4D, bytes(4) + b"\x1f\0\0\5" + b"x" * 8), 17))),  # RD: a READ's response
    (1, ethernet(ipv4(roce(0x31, b"\x60\0\0\5"), 17))),  # UC has no answers
)
