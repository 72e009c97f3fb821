"""Decode one header after another down to TCP or UDP: tags, labels, tunnels. `network_layer` gives the same results, compiled.

Each function reads the header at a place and returns the layer behind it. struct.error if the frame was truncated before.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from collectors.columns.record import ROCE_PORT, TCP, UDP, UET_PORT
from collectors.packets import headers, protocols
from collectors.packets.protocols import (
    BAD,
    FRAME,
    LLC,
    MPLS,
    MPLS_MULTICAST,
    NETWORK,
    NSH,
    OTHER_PROTOCOL,
    OTHER_TYPE,
    PLAIN,
    PROTOCOL,
    REFUSED,
    TYPE,
)

KNOWN = tuple(kind for kind in protocols.ETHERTYPES if kind not in (headers.IPV4, headers.IPV6)) + tuple(protocols.TAG_OCTETS)


class Layer(NamedTuple):
    """The layer at a place in a frame: `kind` is one of `protocols`, `number` a verdict, an EtherType, a version, a
    protocol.
    """

    kind: int
    number: int
    at: int


def need(frame: bytes, at: int, octets: int) -> None:
    """Raise struct.error if fewer octets are present."""
    if at + octets > len(frame):
        raise struct.error


def short(frame: bytes, at: int) -> int:
    """Read a number of 2 octets."""
    return int.from_bytes(frame[at : at + 2], "big")


def behind(frame: bytes, layer: Layer, until: int) -> Layer:
    """Return the layer behind any layer but an IP packet; `until`: end of the packet that contains it."""
    kind, number, at = layer
    if kind == FRAME:
        return of_frame(frame, at)
    if kind == TYPE:
        return of_type(frame, number, at)
    if number == TCP:
        return Layer(PLAIN, TCP, at)
    return of_udp(frame, at, until - at) if number == UDP else of_protocol(frame, number, at)


def of_frame(frame: bytes, at: int) -> Layer:
    """Read an Ethernet frame."""
    need(frame, at, 14)
    return Layer(TYPE, short(frame, at + 12), at + 14)


def is_frame(frame: bytes, at: int) -> bool:
    """Check whether an Ethernet frame is at a place, from its type: a known one, and for IP the right version."""
    if at + 15 > len(frame):
        return False
    kind, version = short(frame, at + 12), frame[at + 14] >> 4
    return (kind == headers.IPV4 and version == 4) or (kind == headers.IPV6 and version == 6) or kind in KNOWN


def of_type(frame: bytes, kind: int, at: int) -> Layer:
    """Return the layer that an EtherType announces."""
    if kind in (headers.IPV4, headers.IPV6):
        return Layer(NETWORK, 4 if kind == headers.IPV4 else 6, at)
    if kind == protocols.ROCE_ETHERTYPE:
        return Layer(NETWORK, protocols.GRH, at)
    if kind < LLC or kind == protocols.JUMBO_LLC:
        return _llc(frame, at)
    if kind in protocols.TAG_OCTETS:
        octets = protocols.TAG_OCTETS[kind]
        need(frame, at, octets + 2)
        return Layer(TYPE, short(frame, at + octets), at + octets + 2)
    if kind in protocols.FRAME_AFTER:
        return Layer(FRAME, 0, at + protocols.FRAME_AFTER[kind])
    if kind in (MPLS, MPLS_MULTICAST):
        return _mpls(frame, kind, at)
    if kind == NSH:
        return _nsh(frame, at)
    if kind == protocols.PPPOE:
        need(frame, at, 10)
        version = _ppp(frame, at + 6) if frame[at + 1] == 0 else None
        return version or Layer(REFUSED, OTHER_TYPE + kind, at)
    if kind == protocols.TRILL:
        need(frame, at, 2)
        return Layer(FRAME, 0, at + 6 + 4 * (short(frame, at) >> 6 & 0x1F))
    return _stamped(frame, kind, at)


def _stamped(frame: bytes, kind: int, at: int) -> Layer:
    """Read time stamps of Arista; MACsec without encryption; nothing else."""
    octets = 0
    if kind == protocols.ARISTA:
        need(frame, at, 4)
        if short(frame, at) == protocols.ARISTA_TIME:
            octets = {1: 12, 2: 10}.get(frame[at + 3] >> 4, 0)
    elif kind == protocols.MACSEC:
        need(frame, at, 1)
        if not frame[at] & protocols.MACSEC_OPAQUE:
            octets = 14 if frame[at] & protocols.MACSEC_CHANNEL else 6
    if not octets:
        return Layer(REFUSED, OTHER_TYPE + kind, at)
    need(frame, at, octets + 2)
    return Layer(TYPE, short(frame, at + octets), at + octets + 2)


def _llc(frame: bytes, at: int) -> Layer:
    """Read IEEE 802.2 clause 3.2, and SNAP: an organisation and a type."""
    need(frame, at, 3)
    if frame[at : at + 3] == b"\x06\x06\x03":
        return Layer(NETWORK, 4, at + 3)
    if frame[at : at + 3] != b"\xaa\xaa\x03":
        return Layer(REFUSED, OTHER_TYPE, at)
    need(frame, at, 8)
    if frame[at + 3 : at + 6] not in (b"\0\0\0", b"\0\0\xf8"):
        return Layer(REFUSED, OTHER_TYPE, at)
    return Layer(TYPE, short(frame, at + 6), at + 8)


def _mpls(frame: bytes, kind: int, at: int) -> Layer:
    """Read a label, and the layer behind the last one: RFC 3032, RFC 4385 section 3, RFC 4448; no header names that layer."""
    need(frame, at, 4)
    last, at = frame[at + 2] & 1, at + 4
    if not last:
        return Layer(TYPE, kind, at)
    need(frame, at, 1)
    version, framed = frame[at] >> 4, is_frame(frame, at)
    if version in (4, 6) and not framed:
        return Layer(NETWORK, version, at)
    need(frame, at, 19)
    if version == 0 and is_frame(frame, at + 4):
        return Layer(FRAME, 0, at + 4)
    return Layer(FRAME, 0, at) if framed else Layer(REFUSED, OTHER_TYPE + kind, at)


def _nsh(frame: bytes, at: int) -> Layer:
    """Read NSH: RFC 8300 section 2.2."""
    need(frame, at, 4)
    octets, protocol = (short(frame, at) & 0x3F) * 4, frame[at + 3]
    if octets < 8:
        return Layer(REFUSED, BAD, at)
    return _next(protocol, at + octets) or Layer(REFUSED, OTHER_TYPE + NSH, at)


def _next(protocol: int, at: int) -> Layer | None:
    """Return the layer of a next-protocol number; NSH and VXLAN-GPE use equal numbers."""
    found = {1: (NETWORK, 4), 2: (NETWORK, 6), 3: (FRAME, 0), 4: (TYPE, NSH), 5: (TYPE, MPLS)}.get(protocol)
    return Layer(*found, at) if found else None


def _ppp(frame: bytes, at: int) -> Layer | None:
    """Read IP in PPP, RFC 1661 section 2, RFC 1662 section 3.1: address and control, and half of the protocol, are optional."""
    need(frame, at, 4)
    if frame[at : at + 2] == b"\xff\x03":
        at += 2
    octets = 1 if frame[at] & 1 else 2
    version = {0x21: 4, 0x57: 6}.get(int.from_bytes(frame[at : at + octets], "big"))
    return Layer(NETWORK, version, at + octets) if version else None


def of_protocol(frame: bytes, number: int, at: int) -> Layer:
    """Return the payload of an IP protocol other than TCP and UDP."""
    if number in (protocols.IPIP, protocols.IPV6_IN_IP):
        return Layer(NETWORK, 4 if number == protocols.IPIP else 6, at)
    if number == headers.GRE:
        return _gre(frame, at)
    if number == protocols.ETHERNET:
        return Layer(FRAME, 0, at)
    if number == protocols.MPLS_IN_IP:
        return Layer(TYPE, MPLS, at)
    found = None
    if number == protocols.ETHER_IP:
        need(frame, at, 2)
        found = Layer(FRAME, 0, at + 2) if frame[at] >> 4 == 3 else None
    elif number == protocols.L2TP:
        need(frame, at, 4)
        found = _session(frame, at)
    return found or Layer(REFUSED, OTHER_PROTOCOL + number, at)


def _session(frame: bytes, at: int) -> Layer | None:
    """Read the frame behind an L2TPv3 session; 0 is control. Cookie and sublayer have 0 to 12 octets, RFC 3931 section 4.1."""
    if frame[at : at + 4] == bytes(4):
        return None
    return next((Layer(FRAME, 0, place) for place in range(at + 4, at + 20, 4) if is_frame(frame, place)), None)


def _gre(frame: bytes, at: int) -> Layer:
    """Read GRE: packets, frames, plain or mirrored, or other EtherTypes; PPTP, which is version 1."""
    gre = headers.unpack_gre(frame, at)
    if gre.flags & 0x4007 == 1 and gre.protocol == protocols.PPP:
        at += 8 + 4 * (gre.flags & headers.PPTP_OPTIONS).bit_count()
        return _ppp(frame, at) or Layer(REFUSED, OTHER_TYPE + protocols.PPP, at)
    if gre.flags & headers.GRE_REFUSED:
        return Layer(REFUSED, BAD, at)
    if gre.protocol < LLC:
        return Layer(REFUSED, OTHER_PROTOCOL + headers.GRE, at)
    at += 4 + 4 * (gre.flags & headers.GRE_OPTIONS).bit_count()
    if gre.protocol == headers.ERSPAN_III:
        at += 20 if headers.unpack_erspan3(frame, at).flags & 1 else 12
    elif gre.protocol == headers.ERSPAN and gre.flags & headers.GRE_SEQUENCE:  # without, it is type I: no header
        at += 8
    elif gre.protocol == protocols.WCCP:
        need(frame, at, 1)
        return Layer(NETWORK, 4, at if frame[at] >> 4 == 4 else at + 4)
    if gre.protocol in (headers.BRIDGED, headers.ERSPAN, headers.ERSPAN_III):
        return Layer(FRAME, 0, at)
    return Layer(TYPE, gre.protocol, at)


def of_udp(frame: bytes, at: int, room: int) -> Layer:
    """Return the payload of UDP from its port and first octets; `PLAIN` if it is neither a frame nor a packet."""
    ports = headers.unpack_ports(frame, at)
    plain, port = Layer(PLAIN, UDP, at), ports.dst_port
    if port in (ROCE_PORT, UET_PORT):
        return plain
    if port in (headers.VXLAN_PORT, protocols.GPE):
        return _vxlan(frame, at, room) or plain
    if port == protocols.GENEVE:
        return _geneve(frame, at, room) or plain
    if port == protocols.GTP_U:
        return _gtp(frame, at, room) or plain
    if port in (protocols.GUE, protocols.LISP):
        return (_gue if port == protocols.GUE else _lisp)(frame, at, room) or plain
    if protocols.L2TP_PORT in ports:
        return _l2tp(frame, at, room) or plain
    if port == protocols.MPLS_PORT:
        return Layer(TYPE, MPLS, at + 8)
    if port == protocols.GRE_PORT:
        return _gre_in_udp(frame, at, room) or plain
    if room < 38 or at + 38 > len(frame) or int.from_bytes(frame[at + 8 : at + 12], "big") != protocols.VXLAN_WORD:
        return plain
    sure = frame[at + 15] == 0 and (port == protocols.VXLAN_LINUX or is_frame(frame, at + 16))
    return Layer(FRAME, 0, at + 16) if sure else plain


def _gre_in_udp(frame: bytes, at: int, room: int) -> Layer | None:
    """Read RFC 8086 section 3, if the reserved bits are 0: other protocols use this port as well."""
    if room < 12:
        return None
    need(frame, at, 12)
    sure = not short(frame, at + 8) & protocols.GRE_RESERVED and short(frame, at + 10) >= LLC
    return Layer(PROTOCOL, headers.GRE, at + 8) if sure else None


def _vxlan(frame: bytes, at: int, room: int) -> Layer | None:
    """Read VXLAN, plain or generic: RFC 7348 section 5, draft-ietf-nvo3-vxlan-gpe-13 section 3."""
    if room < 16:
        return None
    need(frame, at, 16)
    flags = frame[at + 8]
    if not flags & headers.VXLAN_VALID:
        return None
    return _next(frame[at + 11], at + 16) if flags & protocols.GPE_NEXT else Layer(FRAME, 0, at + 16)


def _geneve(frame: bytes, at: int, room: int) -> Layer | None:
    """Read Geneve: RFC 8926 section 3.4."""
    if room < 16:
        return None
    need(frame, at, 16)
    kind, inner = short(frame, at + 10), at + 16 + 4 * (frame[at + 8] & 0x3F)
    if frame[at + 8] >> 6 or kind < LLC:
        return None
    return Layer(FRAME, 0, inner) if kind == headers.BRIDGED else Layer(TYPE, kind, inner)


def _gtp(frame: bytes, at: int, room: int) -> Layer | None:
    """Read a user's packet in GTP-U version 1 with extension headers, 3GPP TS 29.281 section 5."""
    if room < 16:
        return None
    need(frame, at, 16)
    flags = frame[at + 8]
    if flags >> 4 != 3 or frame[at + 9] != 255:
        return None
    place, extension = at + 16, 0
    if flags & 7:
        need(frame, place, 4)
        place, extension = place + 4, frame[place + 3] if flags & 4 else 0
    while extension:
        need(frame, place, 1)
        octets = 4 * frame[place]
        if not octets:
            return Layer(REFUSED, BAD, place)
        need(frame, place, octets)
        extension, place = frame[place + octets - 1], place + octets
    return _packet(frame, place) or (Layer(FRAME, 0, place) if is_frame(frame, place) else None)


def _packet(frame: bytes, at: int) -> Layer | None:
    """Read an IP packet; its first octet shows the version."""
    need(frame, at, 1)
    version = frame[at] >> 4
    return Layer(NETWORK, version, at) if version in (4, 6) else None


def _lisp(frame: bytes, at: int, room: int) -> Layer | None:
    """Read LISP: RFC 9300 section 5."""
    return _packet(frame, at + 16) if room >= 36 else None


def _gue(frame: bytes, at: int, room: int) -> Layer | None:
    """Read generic UDP encapsulation, draft-ietf-intarea-gue-09 section 3: in variant 1 no header precedes the packet."""
    if room < 12:
        return None
    need(frame, at, 12)
    first = frame[at + 8]
    if first >> 6 == 1:
        return _packet(frame, at + 8)
    if first >> 5:
        return None
    return Layer(PROTOCOL, frame[at + 9], at + 12 + 4 * (first & 0x1F))


def _l2tp(frame: bytes, at: int, room: int) -> Layer | None:
    """Read L2TP data, version 2 with PPP inside, RFC 2661 section 3.1, or 3 with frames, RFC 3931 section 4.1.2."""
    if room < 16:
        return None
    need(frame, at, 16)
    flags = short(frame, at + 8)
    if flags & 0x8000:
        return None
    if flags & 15 == 3:
        return _session(frame, at + 12)
    if flags & 15 != 2:
        return None
    place = at + 14 + 2 * (flags >> 14 & 1) + 4 * (flags >> 11 & 1)
    if flags & 0x0200:
        need(frame, place, 2)
        place += 2 + short(frame, place)
    return _ppp(frame, place)
