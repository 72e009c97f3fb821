"""Decode what precedes IP in a frame, compiled: link headers, EtherTypes, tags, labels; the same results as `tunnels`.

Each function says what is at which place behind a header: see `protocols`; of `REFUSED`, the number is a verdict.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.compilation.primitives import long, octet, part, rare, short
from collectors.packets import headers, plain_decoder, protocols, tunnels
from collectors.packets.infiniband import ERF, INFINIBAND, link_of
from collectors.packets.protocols import (
    BAD,
    FRAME,
    LLC,
    MPLS,
    MPLS_MULTICAST,
    NETWORK,
    NOT_IP,
    NSH,
    OTHER_TYPE,
    PPPOE,
    REFUSED,
    TRILL,
    TRUNCATED,
    TYPE,
    UNKNOWN,
)

_ETHERTYPES = np.array([(kind, *places) for kind, places in plain_decoder.ETHERTYPE_AT.items()], np.int64)
_RAW = np.array(list(plain_decoder.RAW.items()), np.int64)
_LOOPBACK = plain_decoder.LOOPBACK
_FAMILIES = np.array(list(plain_decoder.FAMILIES.items()), np.int64)
_TAGS, _FRAME_AFTER = (np.array(list(table.items()), np.int64) for table in (protocols.TAG_OCTETS, protocols.FRAME_AFTER))
_KNOWN = np.array(tunnels.KNOWN, np.int64)
_LABELLED = plain_decoder.LABELLED
LINK_TYPES = (*plain_decoder.ETHERTYPE_AT, *plain_decoder.RAW, *plain_decoder.LOOPBACK, _LABELLED, INFINIBAND, ERF)


@part
def link(begin: Any, end: Any, link_type: Any) -> Any:
    """What is behind the header of the link."""
    for k in range(len(_ETHERTYPES)):
        if _ETHERTYPES[k, 0] == link_type:
            at = begin + _ETHERTYPES[k, 2]
            if at > end:
                return REFUSED, TRUNCATED, begin
            return TYPE, short(begin + _ETHERTYPES[k, 1]), at
    for k in range(len(_RAW)):
        if _RAW[k, 0] == link_type:
            if begin == end:
                return REFUSED, TRUNCATED, begin
            version = _RAW[k, 1] if _RAW[k, 1] else octet(begin) >> 4
            return (NETWORK, version, begin) if version in (4, 6) else (REFUSED, NOT_IP, begin)
    if link_type in _LOOPBACK:
        return _loopback(begin, end)
    if link_type == INFINIBAND:
        return link_of(begin, end)
    return (TYPE, MPLS, begin) if link_type == _LABELLED else (REFUSED, UNKNOWN, begin)


@part
def _loopback(begin: Any, end: Any) -> Any:
    """The same of a loopback interface."""
    at, version = begin + 4, 0
    if at > end:
        return REFUSED, TRUNCATED, begin
    family = long(begin)
    for k in range(len(_FAMILIES)):
        if family in (_FAMILIES[k, 0], _FAMILIES[k, 0] << 24):
            version = _FAMILIES[k, 1]
    return (NETWORK, version, at) if version else (REFUSED, NOT_IP, at)


@part
def of_frame(at: Any, end: Any) -> Any:
    """A frame of Ethernet."""
    if at + 14 > end:
        return REFUSED, TRUNCATED, at
    return TYPE, short(at + 12), at + 14


@rare
def is_frame(at: Any, end: Any) -> Any:
    """Whether a frame of Ethernet is at a place, as far as its type tells."""
    if at + 15 > end:
        return False
    kind, version = short(at + 12), octet(at + 14) >> 4
    if kind == headers.IPV4 or kind == headers.IPV6:
        return version == (4 if kind == headers.IPV4 else 6)
    known = False
    for k in range(len(_KNOWN)):
        known |= _KNOWN[k] == kind
    return known


@rare
def of_type(kind: Any, at: Any, end: Any) -> Any:
    """What an EtherType announces."""
    if kind == headers.IPV4 or kind == headers.IPV6:
        return NETWORK, 4 if kind == headers.IPV4 else 6, at
    if kind < LLC or kind == protocols.JUMBO_LLC:
        return _llc(at, end)
    if kind == protocols.ROCE_ETHERTYPE:
        return NETWORK, protocols.GRH, at
    for k in range(len(_TAGS)):
        if _TAGS[k, 0] == kind:
            return _after(at + _TAGS[k, 1], end)
    for k in range(len(_FRAME_AFTER)):
        if _FRAME_AFTER[k, 0] == kind:
            return FRAME, 0, at + _FRAME_AFTER[k, 1]
    if kind in (MPLS, MPLS_MULTICAST):
        return _mpls(kind, at, end)
    if kind == NSH:
        return _nsh(at, end)
    if kind == PPPOE:
        return _pppoe(at, end)
    if kind == TRILL:
        return (FRAME, 0, at + 6 + 4 * (short(at) >> 6 & 0x1F)) if at + 2 <= end else (REFUSED, TRUNCATED, at)
    return _stamped(kind, at, end)


@part
def _pppoe(at: Any, end: Any) -> Any:
    """RFC 2516 section 4: a packet, where its code is 0."""
    if at + 10 > end:
        return REFUSED, TRUNCATED, at
    version, inner = ppp(at + 6, end) if octet(at + 1) == 0 else (0, at)
    return (NETWORK, version, inner) if version else (REFUSED, OTHER_TYPE + PPPOE, at)


@part
def _after(at: Any, end: Any) -> Any:
    """What the EtherType at a place announces."""
    if at + 2 > end:
        return REFUSED, TRUNCATED, at
    return TYPE, short(at), at + 2


@part
def _stamped(kind: Any, at: Any, end: Any) -> Any:
    """Time stamps of Arista; MACsec, where it does not encrypt; nothing else."""
    octets = 0
    if kind == protocols.ARISTA:
        if at + 4 > end:
            return REFUSED, TRUNCATED, at
        if short(at) == protocols.ARISTA_TIME:
            form = octet(at + 3) >> 4
            octets = 12 if form == 1 else 10 if form == 2 else 0
    elif kind == protocols.MACSEC:
        if at + 1 > end:
            return REFUSED, TRUNCATED, at
        if not octet(at) & protocols.MACSEC_OPAQUE:
            octets = 14 if octet(at) & protocols.MACSEC_CHANNEL else 6
    return _after(at + octets, end) if octets else (REFUSED, OTHER_TYPE + kind, at)


@part
def _llc(at: Any, end: Any) -> Any:
    """IEEE 802.2 clause 3.2, and SNAP."""
    if at + 3 > end:
        return REFUSED, TRUNCATED, at
    start = short(at) << 8 | octet(at + 2)
    if start == 0x060603:
        return NETWORK, 4, at + 3
    if start != 0xAAAA03:
        return REFUSED, OTHER_TYPE, at
    if at + 8 > end:
        return REFUSED, TRUNCATED, at
    organisation = short(at + 3) << 8 | octet(at + 5)
    if organisation != 0 and organisation != 0xF8:
        return REFUSED, OTHER_TYPE, at
    return TYPE, short(at + 6), at + 8


@part
def _mpls(kind: Any, start: Any, end: Any) -> Any:
    """A label, and what is behind the last one."""
    if start + 4 > end:
        return REFUSED, TRUNCATED, start
    at = start + 4
    if not octet(start + 2) & 1:
        return TYPE, kind, at
    if at + 1 > end:
        return REFUSED, TRUNCATED, at
    version, framed = octet(at) >> 4, is_frame(at, end)
    if (version == 4 or version == 6) and not framed:
        return NETWORK, version, at
    if at + 19 > end:
        return REFUSED, TRUNCATED, at
    if version == 0 and is_frame(at + 4, end):
        return FRAME, 0, at + 4
    return (FRAME, 0, at) if framed else (REFUSED, OTHER_TYPE + kind, at)


@part
def _nsh(at: Any, end: Any) -> Any:
    """RFC 8300 section 2.2."""
    if at + 4 > end:
        return REFUSED, TRUNCATED, at
    octets = (short(at) & 0x3F) * 4
    if octets < 8:
        return REFUSED, BAD, at
    kind, number = following(octet(at + 3))
    return (kind, number, at + octets) if kind != REFUSED else (REFUSED, OTHER_TYPE + NSH, at)


@part
def following(protocol: Any) -> Any:
    """What the next protocol of NSH and of VXLAN-GPE is; REFUSED where it is unknown."""
    if protocol == 1 or protocol == 2:
        return NETWORK, 4 if protocol == 1 else 6
    if protocol == 3:
        return FRAME, 0
    if protocol == 4 or protocol == 5:
        return TYPE, NSH if protocol == 4 else MPLS
    return REFUSED, 0


@rare
def ppp(at: Any, end: Any) -> Any:
    """Version and place of IP in PPP; version 0 where that has something else, -1 where it was cut."""
    if at + 4 > end:
        return -1, at
    start = at + 2 if short(at) == 0xFF03 else at
    if octet(start) & 1:
        protocol, inner = octet(start), start + 1
    else:
        protocol, inner = short(start), start + 2
    return 4 if protocol == 0x21 else 6 if protocol == 0x57 else 0, inner
