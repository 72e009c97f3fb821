"""Headers from Ethernet to RoCEv2, one struct each, and the plain decoder of a frame. `fastpath` answers the same for many.

Every header is a NamedTuple with `unpack_*` (raises struct.error where the buffer ends too early) beside its twin `pack_*`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from collectors.record import ROCE_PORT, TCP, UDP

NOT_IP, FRAGMENT, TRUNCATED, BAD = "not ip", "fragment", "truncated header", "bad header"
NOT_TCP_OR_UDP = "not tcp or udp"
REASONS = (NOT_IP, FRAGMENT, TRUNCATED, BAD, NOT_TCP_OR_UDP)  # and "link type N"

IPV4, IPV6 = 0x0800, 0x86DD  # IANA, IEEE 802 numbers
TAGS = (0x8100, 0x88A8, 0x9100)  # IEEE 802.1Q clause 9.6: customer and service tag; 0x9100: QinQ before 802.1ad

# Link types: https://www.tcpdump.org/linktypes.html; 12 and 14 are the DLT_RAW of some systems, as old tools wrote it.
ETHERTYPE_AT = {1: (12, 14), 113: (14, 16), 276: (0, 20)}  # Ethernet, Linux cooked v1, v2: where the type is, header length
RAW = {101: 0, 12: 0, 14: 0, 228: 4, 229: 6}  # no header at all; the IP version, 0: as the packet says
LOOPBACK = (0, 108)  # BSD: the address family in 4 octets, in the order of the host or of the network
FAMILIES = {2: 4, 10: 6, 24: 6, 28: 6, 30: 6}  # AF_INET; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS

EXTENSIONS = (0, 43, 44, 51, 60)  # hop-by-hop, routing, fragment, authentication, destination: RFC 8200 section 4, RFC 4302
AUTHENTICATION, FRAGMENTED = 51, 44
MAPPED = bytes(10) + b"\xff\xff"  # RFC 4291 section 2.5.5.2: IPv4 inside the IPv6 address space
CONGESTION_EXPERIENCED = 3  # RFC 3168 section 5


class DecodeError(ValueError):
    """Input named by the caller is not what it should be: one line that says which and why."""


class Ethernet(NamedTuple):
    """IEEE 802.3 clause 3.1.1; `ethertype` may announce a tag."""

    dst: bytes
    src: bytes
    ethertype: int


class Tag(NamedTuple):
    """IEEE 802.1Q clause 9.6, after its own ethertype: priority, drop bit and VLAN, then the next ethertype."""

    control: int
    ethertype: int


class IPv4(NamedTuple):
    """RFC 791 section 3.1, without the options."""

    version_ihl: int
    tos: int
    length: int
    identification: int
    fragment: int
    ttl: int
    protocol: int
    checksum: int
    src: bytes
    dst: bytes


class IPv6(NamedTuple):
    """RFC 8200 section 3; `label` holds version, traffic class and flow label."""

    label: int
    length: int
    protocol: int
    hop_limit: int
    src: bytes
    dst: bytes


class Extension(NamedTuple):
    """RFC 8200 section 4, RFC 4302: an extension header up to the fragment offset; `length` in words, see `_unpack_ipv6`."""

    protocol: int
    length: int
    fragment: int


class Ports(NamedTuple):
    """What TCP and UDP begin with."""

    src_port: int
    dst_port: int


class Tcp(NamedTuple):
    """RFC 9293 section 3.1, up to the flags; `offset`: header length in words of 4 octets, in the octet's upper half."""

    src_port: int
    dst_port: int
    sequence: int
    acknowledgment: int
    offset: int
    flags: int


class Udp(NamedTuple):
    """RFC 768."""

    src_port: int
    dst_port: int
    length: int
    checksum: int


class Bth(NamedTuple):
    """Base transport header, IBTA volume 1 section 9.2; `flags`: solicited, migrated, pad count (0x30), version (0x0f)."""

    opcode: int
    flags: int
    partition: int
    dst_qp: int  # 24 bits; above them congestion bits and reserved ones
    psn: int  # 24 bits; above them the acknowledge request and reserved bits


class Reth(NamedTuple):
    """RDMA extended transport header, IBTA volume 1 section 9.3.3."""

    address: int
    key: int
    dma_length: int


class Aeth(NamedTuple):
    """ACK extended transport header, IBTA volume 1 section 9.3.5."""

    word: int  # syndrome in the upper 8 bits, sequence number of the message below


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


_Header = TypeVar("_Header", bound=tuple[Any, ...])


def _twins(layout: str, kind: type[_Header]) -> tuple[Callable[[bytes, int], _Header], Callable[[_Header], bytes]]:
    """`unpack(buffer, offset) -> header` and `pack(header) -> octets` of one struct."""
    header = struct.Struct(layout)

    def unpack_header(buffer: bytes, offset: int) -> _Header:
        return kind(*header.unpack_from(buffer, offset))

    def pack_header(fields: _Header) -> bytes:
        return header.pack(*fields)

    return unpack_header, pack_header


unpack_ethernet, pack_ethernet = _twins("!6s6sH", Ethernet)
unpack_tag, pack_tag = _twins("!HH", Tag)
unpack_ipv4, pack_ipv4 = _twins("!BBHHHBBH4s4s", IPv4)
unpack_ipv6, pack_ipv6 = _twins("!IHBB16s16s", IPv6)
unpack_extension, pack_extension = _twins("!BBH", Extension)
unpack_tcp, pack_tcp = _twins("!HHIIBB", Tcp)
unpack_udp, pack_udp = _twins("!HHHH", Udp)
unpack_bth, pack_bth = _twins("!BBHII", Bth)
unpack_reth, pack_reth = _twins("!QII", Reth)
unpack_aeth, pack_aeth = _twins("!I", Aeth)
unpack_ports, pack_ports = _twins("!HH", Ports)

RC, UC, RD, UD, XRC = 0, 1, 2, 3, 5  # upper 3 bits of a BTH opcode, IBTA volume 1 section 9.2.1, table "OpCode field"
CNP = 0x81  # congestion notification, IBTA annex A17.9.3: 16 reserved octets follow
BTH_OCTETS, RETH_OCTETS, ICRC_OCTETS = 12, 16, 4
_RETHS = (6, 10, 11, 12, 29)  # WRITE First, Only, Only with Immediate; READ Request; ATOMIC WRITE
_HEADERS = dict.fromkeys((3, 5, 9, 13, 15, 16, 17, 22, 23), 4) | dict.fromkeys(_RETHS, 16)  # immediate, AETH or IETH; RETH
_HEADERS |= {11: 20, 18: 12, 19: 28, 20: 28, 28: 20}  # RETH + immediate; AETH + AtomicAckETH; AtomicETH; FETH + RETH


def _extended(opcode: int) -> tuple[int, int]:
    """Octets of the headers between BTH and payload, and where among them the RETH starts (-1: there is none)."""
    transport, operation = opcode >> 5, opcode & 31
    if opcode == CNP:
        return 16, -1
    if transport == UD:
        return 12 if operation == 5 else 8, -1  # DETH, immediate
    if transport not in (RC, UC, RD, XRC):
        return 0, -1
    response = 13 <= operation <= 18
    before = {RD: 4 if response else 12, XRC: 0 if response else 4}.get(transport, 0)  # RDETH and DETH; XRCETH
    return before + _HEADERS.get(operation, 0), before if operation in _RETHS else -1


EXTENDED_OCTETS, RETH_AT = zip(*(_extended(opcode) for opcode in range(256)), strict=True)


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
        network = _unpack_ipv4(frame, at, wire_length) if version == 4 else _unpack_ipv6(frame, at, wire_length)
        if network.protocol == TCP:
            return _unpack_tcp(frame, network)
        if network.protocol == UDP:
            return _unpack_udp(frame, network)
        return NOT_TCP_OR_UDP
    except _Skipped as skipped:
        return str(skipped)
    except struct.error:
        return TRUNCATED


def _unpack_link(frame: bytes, link_type: int) -> tuple[int, int]:
    """IP version and where the IP header starts."""
    if link_type in ETHERTYPE_AT:
        type_at, at = ETHERTYPE_AT[link_type]
        if len(frame) < at:
            raise _Skipped(TRUNCATED)
        ethertype = int.from_bytes(frame[type_at : type_at + 2], "big")
        while ethertype in TAGS:
            ethertype, at = unpack_tag(frame, at).ethertype, at + 4
        version = {IPV4: 4, IPV6: 6}.get(ethertype, 0)
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
    rest = room - BTH_OCTETS - EXTENDED_OCTETS[bth.opcode] - (bth.flags >> 4 & 3) - ICRC_OCTETS
    low, dst_qp = bth.psn & 0xFFFFFF, bth.dst_qp & 0xFFFFFF
    return row._replace(octets=max(0, rest), sequence=low, opcode=bth.opcode, dst_qp=dst_qp, dma_length=dma_length)
