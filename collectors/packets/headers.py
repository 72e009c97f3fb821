"""Define the headers from Ethernet to RoCEv2, one struct each.

Every header is a NamedTuple with `unpack_*` (raises struct.error if the buffer ends too early) and its counterpart `pack_*`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

IPV4, IPV6 = 0x0800, 0x86DD  # IANA, IEEE 802 numbers
TAGS = (0x8100, 0x88A8, 0x9100, 0x9200, 0x9300)  # IEEE 802.1Q clause 9.6: customer and service tag; QinQ before 802.1ad
EXTENSIONS = (0, 43, 44, 51, 60)  # hop-by-hop, routing, fragment, authentication, destination: RFC 8200 section 4, RFC 4302
AUTHENTICATION, FRAGMENTED = 51, 44
GRE = 47  # IP protocol, RFC 2784
GRE_OPTIONS, GRE_SEQUENCE = 0xB000, 0x1000  # checksum, key, sequence number: 4 octets each, RFC 2784 and 2890
PPTP_OPTIONS = 0x1080  # sequence and acknowledgment number, RFC 2637 section 4.1
GRE_REFUSED = 0x4007  # source routes (RFC 1701) and versions other than 0
BRIDGED, ERSPAN, ERSPAN_III = 0x6558, 0x88BE, 0x22EB  # protocol types of whole frames; type I and II share one
CONGESTION_EXPERIENCED = 3  # RFC 3168 section 5
VXLAN_PORT, VXLAN_OCTETS, VXLAN_VALID = 4789, 8, 0x08  # RFC 7348 section 5; the I flag: a network identifier is present


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
    """RFC 8200 section 4, RFC 4302: an extension header up to the fragment offset; `length` in words, see `plain_decoder`."""

    protocol: int
    length: int
    fragment: int


class Ports(NamedTuple):
    """First fields of TCP and UDP."""

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
    """ACK extended transport header, IBTA volume 1 section 9.3.5; syndrome: section 9.7.5.2.1, table 43."""

    word: int  # syndrome in the upper 8 bits, sequence number of the message below


class Gre(NamedTuple):
    """RFC 2784 section 2.1, RFC 2890: flags and version, then the protocol type of the payload."""

    flags: int
    protocol: int


class Erspan(NamedTuple):
    """ERSPAN type II, draft-foschiano-erspan-03 section 4.2: version 1 and VLAN, class and session, index of the port."""

    version_vlan: int
    session: int
    port: int


class Vxlan(NamedTuple):
    """RFC 7348 section 5; `network`: its identifier in the upper 24 bits. A whole frame follows."""

    flags: int
    network: int


class Erspan3(NamedTuple):
    """ERSPAN type III, section 4.3 of the same draft: a time stamp; the last bit of `flags` announces 8 more octets."""

    version_vlan: int
    session: int
    timestamp: int
    group: int
    flags: int


_Header = TypeVar("_Header", bound=tuple[Any, ...])


def struct_functions(layout: str, kind: type[_Header]) -> tuple[Callable[[bytes, int], _Header], Callable[[_Header], bytes]]:
    """Build `unpack(buffer, offset) -> header` and `pack(header) -> octets` of one struct."""
    header = struct.Struct(layout)

    def unpack_header(buffer: bytes, offset: int) -> _Header:
        return kind(*header.unpack_from(buffer, offset))

    def pack_header(fields: _Header) -> bytes:
        return header.pack(*fields)

    return unpack_header, pack_header


unpack_ethernet, pack_ethernet = struct_functions("!6s6sH", Ethernet)
unpack_tag, pack_tag = struct_functions("!HH", Tag)
unpack_ipv4, pack_ipv4 = struct_functions("!BBHHHBBH4s4s", IPv4)
unpack_ipv6, pack_ipv6 = struct_functions("!IHBB16s16s", IPv6)
unpack_extension, pack_extension = struct_functions("!BBH", Extension)
unpack_tcp, pack_tcp = struct_functions("!HHIIBB", Tcp)
unpack_udp, pack_udp = struct_functions("!HHHH", Udp)
unpack_bth, pack_bth = struct_functions("!BBHII", Bth)
unpack_reth, pack_reth = struct_functions("!QII", Reth)
unpack_aeth, pack_aeth = struct_functions("!I", Aeth)
unpack_gre, pack_gre = struct_functions("!HH", Gre)
unpack_erspan, pack_erspan = struct_functions("!HHI", Erspan)
unpack_erspan3, pack_erspan3 = struct_functions("!HHIHH", Erspan3)
unpack_vxlan, pack_vxlan = struct_functions("!B3xI", Vxlan)
unpack_ports, pack_ports = struct_functions("!HH", Ports)

RC, UC, RD, UD, XRC = 0, 1, 2, 3, 5  # upper 3 bits of a BTH opcode, IBTA volume 1 section 9.2.1, table "OpCode field"
CNP = 0x81  # congestion notification, IBTA annex A17.9.3: 16 reserved octets follow
BTH_OCTETS, RETH_OCTETS, AETH_OCTETS, ICRC_OCTETS = 12, 16, 4, 4
_RETHS = (6, 10, 11, 12, 29)  # WRITE First, Only, Only with Immediate; READ Request; ATOMIC WRITE
_HEADERS = dict.fromkeys((3, 5, 9, 13, 15, 16, 17, 22, 23), 4) | dict.fromkeys(_RETHS, 16)  # immediate, AETH or IETH; RETH
_HEADERS |= {11: 20, 18: 12, 19: 28, 20: 28, 28: 20}  # RETH + immediate; AETH + AtomicAckETH; AtomicETH; FETH + RETH


def _extended(opcode: int) -> tuple[int, int, int]:
    """Octets of the headers between BTH and payload, and offsets of RETH and AETH in them (-1: none)."""
    transport, operation = opcode >> 5, opcode & 31
    if opcode == CNP:
        return 16, -1, -1
    if transport == UD:
        return 12 if operation == 5 else 8, -1, -1  # DETH, immediate
    if transport not in (RC, UC, RD, XRC):
        return 0, -1, -1
    response = 13 <= operation <= 18
    before = {RD: 4 if response else 12, XRC: 0 if response else 4}.get(transport, 0)  # RDETH and DETH; XRCETH
    answers = operation in (13, 15, 16, 17, 18) and transport != UC  # READ Response First, Last, Only; both Acknowledges
    return before + _HEADERS.get(operation, 0), before if operation in _RETHS else -1, before if answers else -1


EXTENDED_OCTETS, RETH_AT, AETH_AT = zip(*(_extended(opcode) for opcode in range(256)), strict=True)
