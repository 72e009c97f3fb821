"""Decode native InfiniBand frames down to the BTH; `plain_decoder` and `frame_decoder` read the BTH as in RoCEv2.

Local route header (LRH): IBTA volume 1 section 7.7; its link next header names the next header. The global route header (GRH,
section 8.3) has the same fields and offsets as an IPv6 header, so it is read as one: GIDs are addresses. Most packets stay in
their subnet and have no GRH, hence no GID, but local identifiers (LID) of 16 bits. Their ends are named as IPv6 names a
link-layer address of 16 bits: fe80::ff:fe00:LID (RFC 4944 section 6). LIDs are unique in a subnet, as link-local addresses are
on a link. With LMC a port has several LIDs, hence several names.

ERF (Endace, "ERF Types Reference Guide"): a header before each frame, as stored with link type 197 of pcap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.compilation.primitives import octet, part, rare
from collectors.compilation.primitives import short as short_at
from collectors.packets.protocols import (
    BAD,
    FRAME,
    GRH,
    NETWORK,
    NOT_IP,
    OTHER_PROTOCOL,
    PLAIN,
    PROTOCOL,
    REFUSED,
    TRUNCATED,
)
from collectors.packets.tunnels import Layer, need, short

INFINIBAND, ERF = 247, 197  # link types
IBA = 27  # next header of a GRH: a BTH follows, IBTA volume 1 section 8.3.5
LOCAL, GLOBAL = 2, GRH  # as the version of a network layer: LRH alone, GRH
LRH_OCTETS, ERF_OCTETS = 8, 16
RAW, RAW_IPV6, TRANSPORT, TRANSPORT_GLOBAL = range(4)  # link next header, IBTA volume 1 section 7.7.5
LID_HIGH, LID_LOW = 0xFE80000000000000, 0x000000FFFE000000
ERF_ETHERNET, ERF_INFINIBAND, ERF_IPV4, ERF_IPV6 = (2, 11, 16, 20), 21, 22, 23  # plain, with color, DSM color, color and hash
ERF_PAD = 2  # octets before a frame of Ethernet
_ERF_ETHERNET = np.array(ERF_ETHERNET, np.int64)


def lid_address(lid: int) -> bytes:
    """Return the address that names the end of a packet without GRH."""
    return LID_HIGH.to_bytes(8, "big") + (LID_LOW | lid).to_bytes(8, "big")


def of_link(frame: bytes, at: int) -> Layer:
    """Return the layer behind the LRH at a place, or the LRH itself if it has the addresses. struct.error if it was cut."""
    need(frame, at, LRH_OCTETS)
    after = frame[at + 1] & 3
    if frame[at] & 0x0F:  # version of the link layer
        return Layer(REFUSED, BAD, at)
    if after == TRANSPORT:
        return Layer(NETWORK, LOCAL, at)
    if after == RAW:
        return Layer(REFUSED, NOT_IP, at)
    return Layer(NETWORK, GLOBAL if after == TRANSPORT_GLOBAL else 6, at + LRH_OCTETS)


def of_record(frame: bytes) -> tuple[Layer, int]:
    """Return the layer in an ERF record, and the octets of the frame on the wire, with all headers before it."""
    need(frame, 0, ERF_OCTETS)
    kind, more, at = frame[8] & 0x7F, frame[8] & 0x80, ERF_OCTETS
    while more:  # extension headers
        need(frame, at, 8)
        more, at = frame[at] & 0x80, at + 8
    wire = short(frame, 14)
    if kind in ERF_ETHERNET:
        return Layer(FRAME, 0, at + ERF_PAD), at + ERF_PAD + wire
    if kind == ERF_INFINIBAND:
        return of_link(frame, at), at + wire
    if kind in (ERF_IPV4, ERF_IPV6):
        return Layer(NETWORK, 4 if kind == ERF_IPV4 else 6, at), at + wire
    return Layer(REFUSED, NOT_IP, at), at + wire


def after_global(layer: Layer) -> Layer:
    """Return the layer behind a GRH that was read as IPv6."""
    return Layer(PLAIN, IBA, layer.at) if layer.number == IBA else Layer(REFUSED, OTHER_PROTOCOL + layer.number, layer.at)


@part
def link_of(at: Any, end: Any) -> Any:
    """Compute `of_link`, compiled."""
    if at + LRH_OCTETS > end:
        return REFUSED, TRUNCATED, at
    after = octet(at + 1) & 3
    if octet(at) & 0x0F:
        return REFUSED, BAD, at
    if after == TRANSPORT:
        return NETWORK, LOCAL, at
    if after == RAW:
        return REFUSED, NOT_IP, at
    return NETWORK, GLOBAL if after == TRANSPORT_GLOBAL else 6, at + LRH_OCTETS


@rare
def record_of(begin: Any, end: Any) -> Any:
    """Compute `of_record`, compiled: kind, number, place, and the address at which the frame ended on the wire."""
    if begin + ERF_OCTETS > end:
        return REFUSED, TRUNCATED, begin, end
    kind, more, at = octet(begin + 8) & 0x7F, octet(begin + 8) & 0x80, begin + ERF_OCTETS
    while more:
        if at + 8 > end:
            return REFUSED, TRUNCATED, begin, end
        more = octet(at) & 0x80
        at += 8
    wire = short_at(begin + 14)
    for k in range(len(_ERF_ETHERNET)):
        if kind == _ERF_ETHERNET[k]:
            return FRAME, 0, at + ERF_PAD, at + ERF_PAD + wire
    if kind == ERF_INFINIBAND:
        layer, number, place = link_of(at, end)
        return layer, number, place, at + wire
    if kind in (ERF_IPV4, ERF_IPV6):
        return NETWORK, 4 if kind == ERF_IPV4 else 6, at, at + wire
    return REFUSED, NOT_IP, at, at + wire


@part
def global_of(kind: Any, number: Any) -> Any:
    """Compute `after_global`, compiled."""
    if kind != PROTOCOL:
        return kind, number
    return (PLAIN, IBA) if number == IBA else (REFUSED, OTHER_PROTOCOL + number)
