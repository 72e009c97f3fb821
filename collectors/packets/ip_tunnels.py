"""Decode what IP contains: tunnels by protocol and by UDP port. `network_layer` gives the same results, compiled.

Each function reads the header at a place and returns the layer behind it. struct.error if the frame was truncated before.
"""

from __future__ import annotations

from collectors.columns.record import ROCE_PORT, TCP, UDP, UET_PORT
from collectors.packets import headers, protocols
from collectors.packets.protocols import (
    BAD,
    FRAME,
    LLC,
    MPLS,
    NETWORK,
    OTHER_PROTOCOL,
    OTHER_TYPE,
    PLAIN,
    PROTOCOL,
    REFUSED,
    TYPE,
)
from collectors.packets.tunnels import Layer, is_frame, need, next_layer, of_frame, of_type, short, unpack_ppp

# What follows the first word of VXLAN-GPE, and the EtherTypes of Geneve, to a port where it is not expected
_GPE = {protocols.GPE_WORD | 1: (NETWORK, 4), protocols.GPE_WORD | 2: (NETWORK, 6), protocols.GPE_WORD | 3: (FRAME, 0)}
_GENEVE = {headers.IPV4: (NETWORK, 4), headers.IPV6: (NETWORK, 6), headers.BRIDGED: (FRAME, 0)}


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
    if number == headers.AUTHENTICATION:  # in the clear, RFC 4302 section 2
        need(frame, at, 12)
        return Layer(PROTOCOL, frame[at], at + 4 * (frame[at + 1] + 2))
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
        return unpack_ppp(frame, at) or Layer(REFUSED, OTHER_TYPE + protocols.PPP, at)
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
    return _anywhere(frame, at, port, room) or plain


def _anywhere(frame: bytes, at: int, port: int, room: int) -> Layer | None:
    """Read VXLAN and Geneve to any port, if all flags and reserved octets are as they have to be and the payload follows."""
    if room < 38 or at + 38 > len(frame) or frame[at + 15] != 0:
        return None
    first = int.from_bytes(frame[at + 8 : at + 12], "big")
    if first == protocols.VXLAN_WORD:
        sure = port == protocols.VXLAN_LINUX or is_frame(frame, at + 16)
        return Layer(FRAME, 0, at + 16) if sure else None
    place, found = at + 16, _GPE.get(first)
    if found is None and first & protocols.GENEVE_FIXED == 0:
        place, found = place + (first >> 24) * 4, _GENEVE.get(first & 0xFFFF)
    if found is None or place + 20 > min(at + room, len(frame)):
        return None
    sure = frame[place] >> 4 == found[1] if found[0] == NETWORK else is_frame(frame, place)
    return Layer(*found, place) if sure else None


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
    return next_layer(frame[at + 11], at + 16) if flags & protocols.GPE_NEXT else Layer(FRAME, 0, at + 16)


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
    return unpack_ppp(frame, place)
