"""One frame to a row, header by header: the plain decoder. `fastpath` answers the same for many."""

from __future__ import annotations

import struct
from typing import NamedTuple

from collectors.headers import (
    AETH_AT,
    AETH_OCTETS,
    AUTHENTICATION,
    BRIDGED,
    BTH_OCTETS,
    CONGESTION_EXPERIENCED,
    ERSPAN,
    ERSPAN_III,
    EXTENDED_OCTETS,
    EXTENSIONS,
    FRAGMENTED,
    GRE,
    GRE_OPTIONS,
    GRE_REFUSED,
    GRE_SEQUENCE,
    ICRC_OCTETS,
    IPV4,
    IPV6,
    RETH_AT,
    RETH_OCTETS,
    TAGS,
    VXLAN_OCTETS,
    VXLAN_PORT,
    VXLAN_VALID,
    unpack_aeth,
    unpack_bth,
    unpack_erspan3,
    unpack_extension,
    unpack_gre,
    unpack_ipv4,
    unpack_ipv6,
    unpack_ports,
    unpack_reth,
    unpack_tag,
    unpack_tcp,
    unpack_vxlan,
)
from collectors.record import ROCE_PORT, TCP, UDP

NOT_IP, FRAGMENT, TRUNCATED, BAD = "not ip", "fragment", "truncated header", "bad header"
NOT_TCP_OR_UDP, NESTED = "not tcp or udp", "tunnels in tunnels"
REASONS = (NOT_IP, FRAGMENT, TRUNCATED, BAD, NOT_TCP_OR_UDP, NESTED)  # and "link type N"
MOST_TUNNELS = 2  # GRE and VXLAN headers in one frame: a mirrored packet that was in a tunnel itself

# Link types: https://www.tcpdump.org/linktypes.html; 12 and 14 are the DLT_RAW of some systems, as old tools wrote it.
ETHERTYPE_AT = {1: (12, 14), 113: (14, 16), 276: (0, 20)}  # Ethernet, Linux cooked v1, v2: where the type is, header length
RAW = {101: 0, 12: 0, 14: 0, 228: 4, 229: 6}  # no header at all; the IP version, 0: as the packet says
LOOPBACK = (0, 108)  # BSD: the address family in 4 octets, in the order of the host or of the network
FAMILIES = {2: 4, 10: 6, 24: 6, 28: 6, 30: 6}  # AF_INET; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS

MAPPED = bytes(10) + b"\xff\xff"  # RFC 4291 section 2.5.5.2: IPv4 inside the IPv6 address space


class DecodeError(ValueError):
    """Input named by the caller is not what it should be: one line that says which and why."""


class Packet(NamedTuple):
    """One row of `record.Packets` without its time; addresses are 16 octets, IPv4 mapped into IPv6."""

    src: bytes
    dst: bytes
    src_port: int
    dst_port: int
    protocol: int
    octets: int
    ip_id: int
    ecn: bool
    sequence: int = 0
    acknowledgment: int = 0
    tcp_flags: int = 0
    opcode: int = -1
    dst_qp: int = 0
    dma_length: int = -1
    syndrome: int = -1


class _Skipped(Exception):  # noqa: N818 - it is no error
    """The packet has no row; the argument is the reason."""


class _Network(NamedTuple):
    """What the IP header says, for the layer above: `at` is where that starts, `room` how many octets it has."""

    src: bytes
    dst: bytes
    protocol: int
    ip_id: int
    ecn: bool
    at: int
    room: int


def unpack(frame: bytes, wire_length: int, link_type: int) -> Packet | str:
    """The row of one captured frame of `wire_length` octets, or the reason why it has none (`REASONS`, "link type N").

    The payload is what the IP header says, however little was captured: ports, and the flags of TCP or the BTH of RoCEv2,
    are enough. Where the IP header says 0 (segmentation offload, jumbograms) it is the rest of the wire length.
    """
    wire_length = max(wire_length, len(frame))
    try:
        version, at = _unpack_link(frame, link_type)
        for depth in range(MOST_TUNNELS + 1):
            network = _unpack_ipv4(frame, at, wire_length) if version == 4 else _unpack_ipv6(frame, at, wire_length)
            if network.protocol == TCP:
                return _unpack_tcp(frame, network)
            vxlan = network.protocol == UDP and _is_vxlan(frame, network)
            if network.protocol == UDP and not vxlan:
                return _unpack_udp(frame, network)
            if network.protocol not in (UDP, GRE):
                return NOT_TCP_OR_UDP
            if depth < MOST_TUNNELS:
                version, at = (_unpack_vxlan if vxlan else _unpack_gre)(frame, network)
        return NESTED
    except _Skipped as skipped:
        return str(skipped)
    except struct.error:
        return TRUNCATED


def _unpack_link(frame: bytes, link_type: int) -> tuple[int, int]:
    """IP version and where the IP header starts."""
    if link_type in ETHERTYPE_AT:
        version, at = _unpack_ethertype(frame, *ETHERTYPE_AT[link_type])
    elif link_type in RAW:
        at, version = 0, RAW[link_type]
        if not frame:
            raise _Skipped(TRUNCATED)
        version = version or frame[0] >> 4
    elif link_type in LOOPBACK:
        at = 4
        if len(frame) < at:
            raise _Skipped(TRUNCATED)
        version = FAMILIES.get(int.from_bytes(frame[:at], "big")) or FAMILIES.get(int.from_bytes(frame[:at], "little"), 0)
    else:
        raise _Skipped(f"link type {link_type}")
    if version not in (4, 6):
        raise _Skipped(NOT_IP)
    return version, at


def _unpack_ethertype(frame: bytes, type_at: int, at: int) -> tuple[int, int]:
    """IP version (0: not IP) and where the IP header starts, after any tags; `at`: where the link header ends."""
    if len(frame) < at:
        raise _Skipped(TRUNCATED)
    ethertype = int.from_bytes(frame[type_at : type_at + 2], "big")
    while ethertype in TAGS:
        ethertype, at = unpack_tag(frame, at).ethertype, at + 4
    return {IPV4: 4, IPV6: 6}.get(ethertype, 0), at


def _unpack_gre(frame: bytes, ip: _Network) -> tuple[int, int]:
    """IP version and place of the IP header inside GRE: of the packet it carries, or of the frame, plain or mirrored."""
    gre = unpack_gre(frame, ip.at)
    if gre.flags & GRE_REFUSED:
        raise _Skipped(BAD)
    if gre.protocol not in (IPV4, IPV6, BRIDGED, ERSPAN, ERSPAN_III):
        raise _Skipped(NOT_TCP_OR_UDP)
    at = ip.at + 4 + 4 * (gre.flags & GRE_OPTIONS).bit_count()
    if gre.protocol == ERSPAN_III:
        at += 20 if unpack_erspan3(frame, at).flags & 1 else 12
    elif gre.protocol == ERSPAN and gre.flags & GRE_SEQUENCE:  # without a sequence number it is type I: no header
        at += 8
    if at > ip.at + ip.room:
        raise _Skipped(BAD)
    if gre.protocol in (IPV4, IPV6):
        return 4 if gre.protocol == IPV4 else 6, at
    return _unpack_inner(frame, at)


def _is_vxlan(frame: bytes, ip: _Network) -> bool:
    """Whether UDP carries VXLAN, as its destination port, its length and its flags say."""
    if unpack_ports(frame, ip.at).dst_port != VXLAN_PORT or ip.room < 8 + VXLAN_OCTETS:
        return False
    return bool(unpack_vxlan(frame, ip.at + 8).flags & VXLAN_VALID)


def _unpack_vxlan(frame: bytes, ip: _Network) -> tuple[int, int]:
    """IP version and place of the IP header of the frame inside VXLAN."""
    return _unpack_inner(frame, ip.at + 8 + VXLAN_OCTETS)


def _unpack_inner(frame: bytes, at: int) -> tuple[int, int]:
    """IP version and place of the IP header of the Ethernet frame at a place."""
    version, at = _unpack_ethertype(frame, at + 12, at + 14)
    if not version:
        raise _Skipped(NOT_IP)
    return version, at


def _unpack_ipv4(frame: bytes, at: int, wire_length: int) -> _Network:
    ip = unpack_ipv4(frame, at)
    header = (ip.version_ihl & 0x0F) * 4
    length = ip.length or wire_length - at
    if ip.version_ihl >> 4 != 4 or header < 20 or length < header:
        raise _Skipped(BAD)
    if ip.fragment & 0x3FFF:  # more fragments follow, or this is not the first
        raise _Skipped(FRAGMENT)
    ecn = ip.tos & 3 == CONGESTION_EXPERIENCED
    return _Network(MAPPED + ip.src, MAPPED + ip.dst, ip.protocol, ip.identification, ecn, at + header, length - header)


def _unpack_ipv6(frame: bytes, at: int, wire_length: int) -> _Network:
    ip = unpack_ipv6(frame, at)
    if ip.label >> 28 != 6:
        raise _Skipped(BAD)
    at += 40
    end = at + ip.length if ip.length else wire_length
    protocol = ip.protocol
    while protocol in EXTENSIONS:
        extension = unpack_extension(frame, at)
        if protocol == FRAGMENTED and extension.fragment & 0xFFF9:  # an atomic fragment is a whole packet, RFC 6946
            raise _Skipped(FRAGMENT)
        at += {FRAGMENTED: 8, AUTHENTICATION: (extension.length + 2) * 4}.get(protocol, (extension.length + 1) * 8)
        if at > end:
            raise _Skipped(BAD)
        protocol = extension.protocol
    ecn = ip.label >> 20 & 3 == CONGESTION_EXPERIENCED
    return _Network(ip.src, ip.dst, protocol, ip.label & 0xFFFFF, ecn, at, end - at)


def _unpack_tcp(frame: bytes, ip: _Network) -> Packet:
    tcp = unpack_tcp(frame, ip.at)
    header = (tcp.offset >> 4) * 4
    if not 20 <= header <= ip.room:
        raise _Skipped(BAD)
    row = Packet(ip.src, ip.dst, tcp.src_port, tcp.dst_port, TCP, ip.room - header, ip.ip_id, ip.ecn)
    return row._replace(sequence=tcp.sequence, acknowledgment=tcp.acknowledgment, tcp_flags=tcp.flags)


def _unpack_udp(frame: bytes, ip: _Network) -> Packet:
    ports, at, room = unpack_ports(frame, ip.at), ip.at + 8, ip.room - 8
    roce = ports.dst_port == ROCE_PORT  # the destination only: RoCEv2 spreads its flows by the source port, IBTA annex A17
    if room < (BTH_OCTETS if roce else 0):
        raise _Skipped(BAD)
    row = Packet(ip.src, ip.dst, ports.src_port, ports.dst_port, UDP, room, ip.ip_id, ip.ecn)
    if not roce:
        return row
    bth = unpack_bth(frame, at)
    reth_at, dma_length = at + BTH_OCTETS + RETH_AT[bth.opcode], -1
    if RETH_AT[bth.opcode] >= 0 and reth_at + RETH_OCTETS <= len(frame):
        dma_length = unpack_reth(frame, reth_at).dma_length
    aeth_at, syndrome = at + BTH_OCTETS + AETH_AT[bth.opcode], -1
    if AETH_AT[bth.opcode] >= 0 and aeth_at + AETH_OCTETS <= len(frame):
        syndrome = unpack_aeth(frame, aeth_at).word >> 24
    rest = room - BTH_OCTETS - EXTENDED_OCTETS[bth.opcode] - (bth.flags >> 4 & 3) - ICRC_OCTETS
    low, dst_qp = bth.psn & 0xFFFFFF, bth.dst_qp & 0xFFFFFF
    row = row._replace(octets=max(0, rest), sequence=low, opcode=bth.opcode, dst_qp=dst_qp)
    return row._replace(dma_length=dma_length, syndrome=syndrome)
