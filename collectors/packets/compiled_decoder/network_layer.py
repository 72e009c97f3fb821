"""Decode IP and the tunnels in it, compiled; the same results as `ip_tunnels`. See `link_layer`."""

from __future__ import annotations

from typing import Any

from collectors.columns.record import ROCE_PORT, TCP, UDP, UET_PORT
from collectors.compilation.primitives import long, octet, part, rare, short
from collectors.packets import headers, protocols
from collectors.packets.compiled_decoder.link_layer import following, is_frame, of_frame, of_type, ppp
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
    TRUNCATED,
    TYPE,
)


@part
def behind(kind: Any, number: Any, at: Any, end: Any, until: Any) -> Any:
    """What is behind a layer other than a packet of IP; `until`: where the packet that it is in ends."""
    if kind == FRAME:
        return of_frame(at, end)
    if kind == TYPE:
        return of_type(number, at, end)
    if number == TCP:
        return PLAIN, TCP, at
    return of_udp(at, end, until - at) if number == UDP else of_protocol(number, at, end)


@rare
def of_protocol(number: Any, at: Any, end: Any) -> Any:
    """What an IP protocol other than TCP and UDP carries."""
    if number in (protocols.IPIP, protocols.IPV6_IN_IP):
        return NETWORK, 4 if number == protocols.IPIP else 6, at
    if number == headers.GRE:
        return _gre(at, end)
    if number == protocols.ETHERNET:
        return FRAME, 0, at
    if number == protocols.MPLS_IN_IP:
        return TYPE, MPLS, at
    if number == headers.AUTHENTICATION:
        return (PROTOCOL, octet(at), at + 4 * (octet(at + 1) + 2)) if at + 12 <= end else (REFUSED, TRUNCATED, at)
    inner = 0
    if number in (protocols.ETHER_IP, protocols.L2TP):
        if at + (2 if number == protocols.ETHER_IP else 4) > end:
            return REFUSED, TRUNCATED, at
        inner = _session(at, end) if number == protocols.L2TP else at + 2 if octet(at) >> 4 == 3 else 0
    return (FRAME, 0, inner) if inner else (REFUSED, OTHER_PROTOCOL + number, at)


@part
def _session(at: Any, end: Any) -> Any:
    """Place of the frame behind a session of L2TPv3; 0 where there is none."""
    if long(at) != 0:
        for place in range(at + 4, at + 20, 4):
            if is_frame(place, end):
                return place
    return 0


@part
def _gre(start: Any, end: Any) -> Any:
    """GRE: packets, frames, plain or mirrored, or what else has an EtherType; PPTP, which is version 1."""
    if start + 4 > end:
        return REFUSED, TRUNCATED, start
    flags, kind = short(start), short(start + 2)
    if flags & 0x4007 == 1 and kind == protocols.PPP:
        version, inner = ppp(start + 8 + 4 * ((flags >> 12 & 1) + (flags >> 7 & 1)), end)  # headers.PPTP_OPTIONS
        return _of_ppp(version, inner, OTHER_TYPE + kind)
    if flags & headers.GRE_REFUSED:
        return REFUSED, BAD, start
    if kind < LLC:
        return REFUSED, OTHER_PROTOCOL + headers.GRE, start
    at = start + 4 + 4 * ((flags >> 15 & 1) + (flags >> 13 & 1) + (flags >> 12 & 1))  # headers.GRE_OPTIONS
    if kind == headers.ERSPAN_III:
        if at + 12 > end:
            return REFUSED, TRUNCATED, at
        at += 20 if octet(at + 11) & 1 else 12
    elif kind == headers.ERSPAN and flags & headers.GRE_SEQUENCE:
        at += 8
    elif kind == protocols.WCCP:
        if at + 1 > end:
            return REFUSED, TRUNCATED, at
        return NETWORK, 4, at if octet(at) >> 4 == 4 else at + 4
    if kind == headers.BRIDGED or kind == headers.ERSPAN or kind == headers.ERSPAN_III:
        return FRAME, 0, at
    return TYPE, kind, at


@part
def _of_ppp(version: Any, inner: Any, otherwise: Any) -> Any:
    """What `ppp` found; else a verdict."""
    if version < 0:
        return REFUSED, TRUNCATED, inner
    return (NETWORK, version, inner) if version else (REFUSED, otherwise, inner)


@rare
def of_udp(at: Any, end: Any, room: Any) -> Any:
    """What UDP carries; `PLAIN` where that is neither a frame nor a packet, or its headers are not all there."""
    if at + 4 > end:
        return REFUSED, TRUNCATED, at
    port = short(at + 2)
    if port in (ROCE_PORT, UET_PORT):
        return PLAIN, UDP, at
    if port == protocols.MPLS_PORT:
        return TYPE, MPLS, at + 8
    if port == protocols.GRE_PORT and room >= 12:
        return _gre_in_udp(at, end)
    if port in (headers.VXLAN_PORT, protocols.GPE, protocols.GENEVE, protocols.GTP_U) and room >= 16:
        return _of_port(port, at, end) if at + 16 <= end else (REFUSED, TRUNCATED, at)
    if port == protocols.GUE:
        return _gue(at, end, room)
    if port == protocols.LISP:
        return _packet(at + 16, at, end) if room >= 36 else (PLAIN, UDP, at)
    if port == protocols.L2TP_PORT or short(at) == protocols.L2TP_PORT:
        return _l2tp(at, end, room)
    return _anywhere(port, at, end, room) if room >= 38 and at + 38 <= end else (PLAIN, UDP, at)


@part
def _anywhere(port: Any, at: Any, end: Any, room: Any) -> Any:
    """VXLAN and Geneve to any port, where all flags and reserved octets are as they have to be and the payload follows."""
    first, place = long(at + 8), at + 16
    if octet(at + 15) != 0:
        return PLAIN, UDP, at
    if first == protocols.VXLAN_WORD:
        sure = port == protocols.VXLAN_LINUX or is_frame(place, end)
        return (FRAME, 0, place) if sure else (PLAIN, UDP, at)
    kind, number = REFUSED, 0
    if first ^ protocols.GPE_WORD in (1, 2, 3):
        kind, number = following(first ^ protocols.GPE_WORD)
    elif first & protocols.GENEVE_FIXED == 0:
        place += (first >> 24) * 4
        if first & 0xFFFF in (headers.IPV4, headers.IPV6):
            kind, number = NETWORK, 4 if first & 0xFFFF == headers.IPV4 else 6
        elif first & 0xFFFF == headers.BRIDGED:
            kind = FRAME
    if kind == REFUSED or place + 20 > min(at + room, end):
        return PLAIN, UDP, at
    sure = octet(place) >> 4 == number if kind == NETWORK else is_frame(place, end)
    return (kind, number, place) if sure else (PLAIN, UDP, at)


@part
def _gre_in_udp(at: Any, end: Any) -> Any:
    """GRE behind UDP, where the reserved bits are 0."""
    if at + 12 > end:
        return REFUSED, TRUNCATED, at
    sure = not short(at + 8) & protocols.GRE_RESERVED and short(at + 10) >= LLC
    return (PROTOCOL, headers.GRE, at + 8) if sure else (PLAIN, UDP, at)


@part
def _of_port(port: Any, at: Any, end: Any) -> Any:
    """Tunnels that have 8 octets behind UDP."""
    if port == protocols.GENEVE:
        return _geneve(at)
    return _gtp(at, end) if port == protocols.GTP_U else _vxlan(at)


@part
def _vxlan(at: Any) -> Any:
    """VXLAN, plain or generic."""
    flags = octet(at + 8)
    if not flags & headers.VXLAN_VALID:
        return PLAIN, UDP, at
    if not flags & protocols.GPE_NEXT:
        return FRAME, 0, at + 16
    kind, number = following(octet(at + 11))
    return (kind, number, at + 16) if kind != REFUSED else (PLAIN, UDP, at)


@part
def _geneve(at: Any) -> Any:
    """RFC 8926 section 3.4."""
    kind, inner = short(at + 10), at + 16 + 4 * (octet(at + 8) & 0x3F)
    if octet(at + 8) >> 6 or kind < LLC:
        return PLAIN, UDP, at
    return (FRAME, 0, inner) if kind == headers.BRIDGED else (TYPE, kind, inner)


@part
def _gtp(at: Any, end: Any) -> Any:
    """A user's packet in GTP-U of version 1."""
    flags = octet(at + 8)
    if flags >> 4 != 3 or octet(at + 9) != 255:
        return PLAIN, UDP, at
    place, extension = at + 16, 0
    if flags & 7:
        if place + 4 > end:
            return REFUSED, TRUNCATED, at
        extension = octet(place + 3) if flags & 4 else 0
        place += 4
    while extension:
        if place + 1 > end:
            return REFUSED, TRUNCATED, at
        octets = 4 * octet(place)
        if octets == 0:
            return REFUSED, BAD, at
        if place + octets > end:
            return REFUSED, TRUNCATED, at
        extension = octet(place + octets - 1)
        place += octets
    kind, number, inner = _packet(place, at, end)
    if kind == PLAIN and is_frame(place, end):
        return FRAME, 0, place
    return kind, number, inner


@part
def _packet(place: Any, at: Any, end: Any) -> Any:
    """A packet of IP at a place, as its first octet says; else the UDP at another place is plain."""
    if place + 1 > end:
        return REFUSED, TRUNCATED, at
    version = octet(place) >> 4
    return (NETWORK, version, place) if version == 4 or version == 6 else (PLAIN, UDP, at)


@part
def _gue(at: Any, end: Any, room: Any) -> Any:
    """Generic UDP encapsulation."""
    if room < 12:
        return PLAIN, UDP, at
    if at + 12 > end:
        return REFUSED, TRUNCATED, at
    first = octet(at + 8)
    if first >> 6 == 1:
        return _packet(at + 8, at, end)
    if first >> 5:
        return PLAIN, UDP, at
    return PROTOCOL, octet(at + 9), at + 12 + 4 * (first & 0x1F)


@part
def _l2tp(at: Any, end: Any, room: Any) -> Any:
    """Data of L2TP, version 2 with PPP inside or 3 with frames."""
    if room < 16:
        return PLAIN, UDP, at
    if at + 16 > end:
        return REFUSED, TRUNCATED, at
    flags = short(at + 8)
    version = flags & 15
    if flags & 0x8000 or version not in (2, 3):
        return PLAIN, UDP, at
    if version == 3:
        inner = _session(at + 12, end)
        return (FRAME, 0, inner) if inner else (PLAIN, UDP, at)
    place = at + 14 + 2 * (flags >> 14 & 1) + 4 * (flags >> 11 & 1)
    if flags & 0x0200:
        if place + 2 > end:
            return REFUSED, TRUNCATED, at
        place += 2 + short(place)
    version, inner = ppp(place, end)
    if version < 0:
        return REFUSED, TRUNCATED, at
    return (NETWORK, version, inner) if version else (PLAIN, UDP, at)
