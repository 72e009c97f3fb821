"""Decode what precedes IP, header by header: tags, labels, frames in frames. `link_layer` gives the same results, compiled.

Each function reads the header at a place and returns the layer behind it. struct.error if the frame was truncated before.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from collectors.packets import headers, protocols
from collectors.packets.protocols import (
    BAD,
    FRAME,
    LLC,
    MPLS,
    MPLS_MULTICAST,
    NETWORK,
    NSH,
    OTHER_TYPE,
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
        version = unpack_ppp(frame, at + 6) if frame[at + 1] == 0 else None
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
    return next_layer(protocol, at + octets) or Layer(REFUSED, OTHER_TYPE + NSH, at)


def next_layer(protocol: int, at: int) -> Layer | None:
    """Return the layer of a next-protocol number; NSH and VXLAN-GPE use equal numbers."""
    found = {1: (NETWORK, 4), 2: (NETWORK, 6), 3: (FRAME, 0), 4: (TYPE, NSH), 5: (TYPE, MPLS)}.get(protocol)
    return Layer(*found, at) if found else None


def unpack_ppp(frame: bytes, at: int) -> Layer | None:
    """Read IP in PPP, RFC 1661 section 2, RFC 1662 section 3.1: address and control, and half of the protocol, are optional."""
    need(frame, at, 4)
    if frame[at : at + 2] == b"\xff\x03":
        at += 2
    octets = 1 if frame[at] & 1 else 2
    version = {0x21: 4, 0x57: 6}.get(int.from_bytes(frame[at : at + octets], "big"))
    return Layer(NETWORK, version, at + octets) if version else None
