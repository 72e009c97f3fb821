"""What comes before IP in a frame, compiled: headers of links of any type, tags, and GRE, down to where IP's header starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors import headers, packet
from collectors.wire import long, octet, part, short

# Verdicts on a frame: it has a row, or one of packet.REASONS, or it is of an unknown link type.
KEPT, NOT_IP, FRAGMENT, TRUNCATED, BAD, NOT_TCP_OR_UDP, NESTED, UNKNOWN = range(8)

_ETHERTYPES = np.array([(kind, *places) for kind, places in packet.ETHERTYPE_AT.items()], np.int64)
_RAW = np.array(list(packet.RAW.items()), np.int64)
_LOOPBACK = packet.LOOPBACK
_FAMILIES = np.array(list(packet.FAMILIES.items()), np.int64)
_CUSTOMER, _SERVICE, _OLD = headers.TAGS
LINK_TYPES = (*packet.ETHERTYPE_AT, *packet.RAW, *packet.LOOPBACK)


@part
def link(begin: Any, end: Any, link_type: Any) -> Any:
    """Verdict, IP version and where the IP header starts."""
    if link_type == 1:
        return of_type(begin + 12, begin + 14, end)
    for k in range(len(_ETHERTYPES)):
        if _ETHERTYPES[k, 0] == link_type:
            return of_type(begin + _ETHERTYPES[k, 1], begin + _ETHERTYPES[k, 2], end)
    for k in range(len(_RAW)):
        if _RAW[k, 0] == link_type:
            if begin == end:
                return TRUNCATED, 0, begin
            version = _RAW[k, 1] if _RAW[k, 1] else octet(begin) >> 4
            return KEPT if version in (4, 6) else NOT_IP, version, begin
    if link_type in _LOOPBACK:
        return _loopback(begin, end)
    return UNKNOWN, 0, begin


@part
def _loopback(begin: Any, end: Any) -> Any:
    """The same of a loopback interface."""
    at, verdict, version = begin + 4, NOT_IP, 0
    if at > end:
        return TRUNCATED, version, at
    family = long(begin)
    for k in range(len(_FAMILIES)):
        if family in (_FAMILIES[k, 0], _FAMILIES[k, 0] << 24):
            verdict, version = KEPT, _FAMILIES[k, 1]
    return verdict, version, at


@part
def of_type(type_at: Any, at: Any, end: Any) -> Any:
    """Verdict, IP version and where the IP header starts, after any tags; `at`: where the link header ends."""
    if at > end:
        return TRUNCATED, 0, at
    ethertype = short(type_at)
    while ethertype in (_CUSTOMER, _SERVICE, _OLD):
        if at + 4 > end:
            return TRUNCATED, 0, at
        ethertype = short(at + 2)
        at += 4
    if ethertype == headers.IPV4:
        return KEPT, 4, at
    return KEPT if ethertype == headers.IPV6 else NOT_IP, 6, at


@part
def gre(start: Any, end: Any, until: Any) -> Any:
    """Verdict, IP version and place of the IP header inside GRE: of the packet it carries, or of the frame."""
    if start + 4 > end:
        return TRUNCATED, 0, start
    flags, kind = short(start), short(start + 2)
    if flags & headers.GRE_REFUSED:
        return BAD, 0, start
    packets = kind == headers.IPV4 or kind == headers.IPV6
    if not packets and kind != headers.BRIDGED and kind != headers.ERSPAN and kind != headers.ERSPAN_III:
        return NOT_TCP_OR_UDP, 0, start
    at = start + 4 + 4 * ((flags >> 15 & 1) + (flags >> 13 & 1) + (flags >> 12 & 1))  # headers.GRE_OPTIONS
    if kind == headers.ERSPAN_III:
        if at + 12 > end:
            return TRUNCATED, 0, at
        at += 20 if octet(at + 11) & 1 else 12
    elif kind == headers.ERSPAN and flags & headers.GRE_SEQUENCE:
        at += 8
    if at > until:
        return BAD, 0, at
    if packets:
        return KEPT, 4 if kind == headers.IPV4 else 6, at
    return of_type(at + 12, at + 14, end)
