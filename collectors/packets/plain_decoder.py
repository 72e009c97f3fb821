"""Decode one frame to a row, header by header: the readable decoder. `batch_decoder` gives the same results, compiled."""

from __future__ import annotations

import struct
from typing import NamedTuple

from collectors.columns.record import ROCE_PORT, TCP, UDP, UET_PORT
from collectors.packets import infiniband, ip_tunnels, protocols, tunnels
from collectors.packets.headers import (
    AETH_AT,
    AETH_OCTETS,
    AUTHENTICATION,
    BTH_OCTETS,
    CONGESTION_EXPERIENCED,
    EXTENDED_OCTETS,
    EXTENSIONS,
    FRAGMENTED,
    ICRC_OCTETS,
    RETH_AT,
    RETH_OCTETS,
    unpack_aeth,
    unpack_bth,
    unpack_extension,
    unpack_ipv4,
    unpack_ipv6,
    unpack_ports,
    unpack_reth,
    unpack_tcp,
    unpack_udp,
)
from collectors.packets.protocols import MOST_LAYERS, MOST_TUNNELS, MPLS, NETWORK, PLAIN, REFUSED, TYPE, reason_of
from collectors.packets.truncation import MOST_PACKET, Cuts
from collectors.packets.tunnels import Layer
from collectors.packets.ultra_ethernet import unpack_uet

# Why a frame has no row, beside `UNKNOWN_LINK`; `reason_of` adds the protocol to two of them. docs/reasons.md explains them.
NOT_IP, FRAGMENT, TRUNCATED, BAD, NOT_TCP_OR_UDP, NESTED, BEYOND = REASONS = protocols.REASONS
UNKNOWN_LINK = "unknown link type {0}"

# Link types: https://www.tcpdump.org/linktypes.html; 12 and 14 are the DLT_RAW of some systems, as old tools wrote it.
ETHERTYPE_AT = {1: (12, 14), 113: (14, 16), 276: (0, 20)}  # Ethernet, Linux cooked v1, v2: offset of the type, header length
RAW = {101: 0, 12: 0, 14: 0, 228: 4, 229: 6}  # no header; the IP version, 0: read it from the packet
LOOPBACK = (0, 108)  # BSD: the address family in 4 octets, in the order of the host or of the network
LABELLED = 219  # MPLS
FAMILIES = {2: 4, 10: 6, 24: 6, 28: 6, 30: 6}  # AF_INET; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS

MAPPED = bytes(10) + b"\xff\xff"  # RFC 4291 section 2.5.5.2: IPv4 inside the IPv6 address space


class DecodeError(ValueError):
    """The input cannot be decoded. The message is one line: which file, where in it, what is wrong, what to do."""


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
    job_id: int = 0


class _Skipped(Exception):  # noqa: N818 - not an error
    """Raised for a packet without a row. The argument is the reason."""


class _Network(NamedTuple):
    """Fields of the IP header for the next layer: `at` is the place of that, `room` its octets."""

    src: bytes
    dst: bytes
    protocol: int
    ip_id: int
    ecn: bool
    at: int
    room: int
    octets: int  # of the whole packet


def unpack(frame: bytes, wire_length: int, link_type: int, cuts: Cuts | None = None) -> Packet | str:
    """Decode one captured frame of `wire_length` octets to a row, or to the reason why it has none (`reason_of`,
    `UNKNOWN_LINK`).

    Parameters
    ----------
    frame : bytes
        The captured octets: ports, and the flags of TCP or the BTH of RoCEv2, are enough.
    wire_length : int
        Octets of the frame on the wire. The payload length comes from the IP header; if that is 0 (segmentation offload,
        jumbograms) it is the rest of the wire length.
    link_type : int
        Link type of the capture.
    cuts : Cuts, optional
        Truncated frames so far. Without it, a packet longer than its frame was truncated by a mirror.

    Returns
    -------
    Packet or str
        The row, or the reason.
    """
    wire_length = max(wire_length, len(frame))
    try:
        if link_type == infiniband.ERF:
            layer, wire_length = infiniband.of_record(frame)
            wire_length = max(wire_length, len(frame))
        else:
            layer = _unpack_link(frame, link_type)
        if layer.kind == REFUSED:
            return reason_of(layer.number)
        return _peel(frame, wire_length, layer, cuts or Cuts())
    except _Skipped as skipped:
        return str(skipped)
    except struct.error:
        return TRUNCATED


def _peel(frame: bytes, wire_length: int, layer: Layer, cuts: Cuts) -> Packet | str:
    """Decode header by header to a row. Raises _Skipped, struct.error."""
    ip: _Network | None = None
    until, networks, beyond = wire_length, 0, False
    for _ in range(MOST_LAYERS):
        kind, number, at = layer
        if kind != NETWORK:
            layer = ip_tunnels.behind(frame, layer, until)
        elif networks > MOST_TUNNELS:
            break
        else:
            ip = _NETWORKS[number](frame, at, until)
            if at + ip.octets > min(until, wire_length):
                if ip.octets > MOST_PACKET or not (beyond or cuts.is_cut(wire_length)):
                    return BEYOND
                beyond = True
            networks, until, layer = networks + 1, ip.at + ip.room, Layer(protocols.PROTOCOL, ip.protocol, ip.at)
            if number in (infiniband.LOCAL, infiniband.GLOBAL):
                layer = infiniband.after_global(layer)
        if layer.kind == REFUSED:
            return reason_of(layer.number)
        if layer.kind == PLAIN and ip:
            row = _PLAINS[layer.number](frame, ip, layer.at, until - layer.at)
            if not beyond:
                cuts.keep(wire_length)
            return row
        if layer.at > until:
            return BAD
    return NESTED


def _unpack_link(frame: bytes, link_type: int) -> Layer:
    """Return the layer behind the link header. Raises _Skipped."""
    if link_type in ETHERTYPE_AT:
        type_at, at = ETHERTYPE_AT[link_type]
        if len(frame) < at:
            raise _Skipped(TRUNCATED)
        return Layer(TYPE, tunnels.short(frame, type_at), at)
    at, version = 0, 0
    if link_type in RAW:
        if not frame:
            raise _Skipped(TRUNCATED)
        version = RAW[link_type] or frame[0] >> 4
    elif link_type in LOOPBACK:
        at = 4
        if len(frame) < at:
            raise _Skipped(TRUNCATED)
        version = FAMILIES.get(int.from_bytes(frame[:at], "big")) or FAMILIES.get(int.from_bytes(frame[:at], "little"), 0)
    elif link_type == LABELLED:
        return Layer(TYPE, MPLS, at)
    elif link_type == infiniband.INFINIBAND:
        return infiniband.of_link(frame, at)
    else:
        raise _Skipped(UNKNOWN_LINK.format(link_type))
    if version not in (4, 6):
        raise _Skipped(NOT_IP)
    return Layer(NETWORK, version, at)


def _unpack_ipv4(frame: bytes, at: int, until: int) -> _Network:
    ip = unpack_ipv4(frame, at)
    header = (ip.version_ihl & 0x0F) * 4
    length = ip.length or until - at
    if ip.version_ihl >> 4 != 4 or header < 20 or length < header:
        raise _Skipped(BAD)
    if ip.fragment & 0x3FFF:  # more fragments follow, or this is not the first
        raise _Skipped(FRAGMENT)
    ecn = ip.tos & 3 == CONGESTION_EXPERIENCED
    src, dst = MAPPED + ip.src, MAPPED + ip.dst
    return _Network(src, dst, ip.protocol, ip.identification, ecn, at + header, length - header, length)


def _unpack_ipv6(frame: bytes, at: int, until: int) -> _Network:
    ip = unpack_ipv6(frame, at)
    if ip.label >> 28 != 6:
        raise _Skipped(BAD)
    octets = 40 + ip.length if ip.length else until - at
    end, at, protocol = at + octets, at + 40, ip.protocol
    while protocol in EXTENSIONS:
        extension = unpack_extension(frame, at)
        if protocol == FRAGMENTED and extension.fragment & 0xFFF9:  # an atomic fragment is a whole packet, RFC 6946
            raise _Skipped(FRAGMENT)
        at += {FRAGMENTED: 8, AUTHENTICATION: (extension.length + 2) * 4}.get(protocol, (extension.length + 1) * 8)
        if at > end:
            raise _Skipped(BAD)
        protocol = extension.protocol
    ecn = ip.label >> 20 & 3 == CONGESTION_EXPERIENCED
    return _Network(ip.src, ip.dst, protocol, ip.label & 0xFFFFF, ecn, at, end - at, octets)


def _unpack_local(frame: bytes, at: int, until: int) -> _Network:  # noqa: ARG001 - as the others
    """Read the LRH of InfiniBand; its packet length is in words of 4 octets."""
    dst, words, src = (tunnels.short(frame, at + k) for k in (2, 4, 6))
    octets = (words & 0x7FF) * 4
    if octets < infiniband.LRH_OCTETS:
        raise _Skipped(BAD)
    ends = infiniband.lid_address(src), infiniband.lid_address(dst)
    room = octets - infiniband.LRH_OCTETS
    return _Network(*ends, infiniband.IBA, 0, False, at + infiniband.LRH_OCTETS, room, octets)


def _unpack_tcp(frame: bytes, ip: _Network, at: int, room: int) -> Packet:
    tcp = unpack_tcp(frame, at)
    header = (tcp.offset >> 4) * 4
    if not 20 <= header <= room:
        raise _Skipped(BAD)
    row = Packet(ip.src, ip.dst, tcp.src_port, tcp.dst_port, TCP, room - header, ip.ip_id, ip.ecn)
    return row._replace(sequence=tcp.sequence, acknowledgment=tcp.acknowledgment, tcp_flags=tcp.flags)


def _unpack_udp(frame: bytes, ip: _Network, at: int, room: int) -> Packet:
    ports, at, room = unpack_ports(frame, at), at + 8, room - 8
    roce = ports.dst_port == ROCE_PORT  # the destination only: RoCEv2 spreads its flows by the source port, IBTA annex A17
    if room < (BTH_OCTETS if roce else 0):
        raise _Skipped(BAD)
    row = Packet(ip.src, ip.dst, ports.src_port, ports.dst_port, UDP, room, ip.ip_id, ip.ecn)
    if ports.dst_port == UET_PORT and (uet := unpack_uet(frame, at, room, unpack_udp(frame, at - 8).length - 8)):
        names, rest = uet.names, uet._asdict()
        return row._replace(acknowledgment=names, **{name: value for name, value in rest.items() if name != "names"})
    return _unpack_roce(frame, row, at, room) if roce else row


def _unpack_infiniband(frame: bytes, ip: _Network, at: int, room: int) -> Packet:
    """Read InfiniBand's transport like RoCEv2; the congestion mark is in the BTH (IBTA volume 1 annex A10.2.1.1.1, FECN)."""
    if room < BTH_OCTETS:
        raise _Skipped(BAD)
    marked = bool(unpack_bth(frame, at).dst_qp >> 31)
    return _unpack_roce(frame, Packet(ip.src, ip.dst, 0, ROCE_PORT, UDP, room, ip.ip_id, marked), at, room)


def _unpack_roce(frame: bytes, row: Packet, at: int, room: int) -> Packet:
    """Read the BTH and the headers behind it."""
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


_NETWORKS = {4: _unpack_ipv4, 6: _unpack_ipv6, infiniband.GLOBAL: _unpack_ipv6, infiniband.LOCAL: _unpack_local}
_PLAINS = {TCP: _unpack_tcp, UDP: _unpack_udp, infiniband.IBA: _unpack_infiniband}
