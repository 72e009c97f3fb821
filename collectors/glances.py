"""What frames are at a glance, compiled: Ethernet, IPv4 and RoCEv2 or TCP, as captures are full of it, told in a few steps.

A hint is what is remembered of a frame until it is looked at: where it is, and of which flow if it is one of these. Where
anything else is about a frame, its hint says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors import headers
from collectors.addresses import pair_slot
from collectors.commonframes import AROUND, COMMON, HEADERS
from collectors.framing import DAMAGED, WHOLE
from collectors.messages import ACKNOWLEDGMENT, ANSWER, BEGINS, DATA, ENDS, KIND_AT, MEANING
from collectors.pcapng import ENHANCED, LEAST, MAX_BLOCK, SECOND
from collectors.record import ROCE_PORT, TCP, UDP
from collectors.state import ANSWERS, LANE, REQUESTS
from collectors.wire import double, little, long, octet, part, prefetch

UNCOMMON, GOES_ON, STARTS, ACKNOWLEDGES, SEGMENT = range(5)  # the first: anything; a packet of a message that began before
HINT = np.dtype(
    [
        *((name, np.int64) for name in ("time_ns", "at", "flow")),  # address of the frame; where its flow may be found
        *((name, np.uint64) for name in ("ends", "rest")),  # the addresses, and the rest of the identity of its flow
        *((name, np.uint32) for name in ("captured", "wire")),
        *((name, np.int32) for name in ("number", "octets", "link_type")),
        *((name, np.uint8) for name in ("what", "ended", "ecn")),
    ],
    align=True,
)  # one line of the cache


def _told(opcode: int) -> int:
    """By opcode: kind of the flow, octets around the payload, whether it ends a message, what it is."""
    meaning = int(MEANING[opcode])
    what = UNCOMMON
    if meaning & 7 == DATA:
        what = STARTS if meaning & BEGINS else GOES_ON
    elif meaning == ACKNOWLEDGMENT and headers.AETH_AT[opcode] == 0:
        what = ACKNOWLEDGES
    kind = ANSWERS if meaning & ANSWER else REQUESTS
    return kind << int(KIND_AT) | int(AROUND[opcode]) << 16 | (meaning & ENDS != 0) << 8 | what


_TOLD = np.array([_told(opcode) for opcode in range(256)], np.uint64)
_PLAIN = np.uint64(headers.IPV4 << 8 | 0x45)  # type of the frame; version and header length
_KIND, _LANE = np.uint64(15 << int(KIND_AT)), np.uint64(LANE << int(KIND_AT) | TCP << 32)
_UDP, _TCP, _ECN, _FRAGMENT = np.uint64(UDP), np.uint64(TCP), np.uint64(3), np.uint64(0x3FFF)
_8, _16, _32, _40, _48, _52, _56 = (np.uint64(bits) for bits in (8, 16, 32, 40, 48, 52, 56))
_OCTET, _SHORT, _QP = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0xFFFFFF)
_CONGESTED = np.uint64(headers.CONGESTION_EXPERIENCED)
_M1, _M2, _0, _1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0), np.uint64(1)
_LEAST = LEAST[ENHANCED]
_AETH = 54  # where an acknowledgment says what it does


@part
def near_slot(hint: Any, near: Any) -> Any:
    """Where in `near` the flow of a packet is to be found."""
    return np.int64((hint.ends * _M1 ^ hint.rest) * _M2 >> _32 & np.uint64(len(near) - 1))


@part
def glance(hint: Any, near: Any, pairs: Any) -> None:
    """What a frame of Ethernet of at least `COMMON` octets is; fetches where in `near` its flow may be, or its `pairs`."""
    begin = hint.at
    head, middle = double(begin + 12), double(begin + 20)
    if head >> _40 != _PLAIN or middle >> _48 & _FRAGMENT != 0:
        return
    protocol, ports = middle >> _32 & _OCTET, long(begin + 34)
    if protocol == _UDP:
        length, transport = np.int64(head >> _16 & _SHORT), double(begin + 42)
        if ports & 0xFFFF != ROCE_PORT or length < HEADERS:
            return
        told = _TOLD[transport >> _56]
        hint.what, hint.ended = told, told >> _8
        hint.ecn = head >> _32 & _ECN == _CONGESTED
        hint.number = long(begin + 50) & 0xFFFFFF
        hint.octets = max(0, length - np.int64(told >> _16 & _SHORT) - np.int64(transport >> _52 & _ECN))
        rest = told & _KIND | transport & _QP
    elif protocol == _TCP:
        hint.what, rest = SEGMENT, _LANE | np.uint64(ports)
    else:
        return
    ends = double(begin + 26)
    hint.ends, hint.rest = ends, rest
    if hint.what == ACKNOWLEDGES:  # of no flow
        hint.flow = -1
        prefetch(pairs, np.int64(pair_slot(ends)))
        return
    hint.flow = near_slot(hint, near)
    prefetch(near, hint.flow)


@part
def glance_records(buffer: Any, at: Any, end: Any, how: Any, hints: Any, near: Any, pairs: Any) -> Any:
    """Hints of the next complete records of a pcap of little-endian numbers, as many as there is room for.

    How many, where the next one starts, and what stopped it, as in `framing.scan_records`.
    """
    header, _, unit, limit, link_type = how
    n, most, longest, ethernet = _0, np.uint64(len(hints)), SECOND // unit, link_type == 1
    while n < most and at + header <= end:
        captured, fraction = little(buffer + at + 8), little(buffer + at + 4)
        if captured > limit or fraction > longest:  # some tools round up to a whole second
            return n, at, DAMAGED
        if at + header + captured > end:
            break
        hint = hints[n]
        hint.time_ns = little(buffer + at) * SECOND + fraction * unit
        hint.at = buffer + at + header
        hint.captured, hint.wire, hint.link_type = captured, little(buffer + at + 12), link_type
        hint.what = UNCOMMON
        if captured >= COMMON and ethernet:
            glance(hint, near, pairs)
        at += header + captured
        n += _1
    return n, at, WHOLE


@part
def glance_blocks(buffer: Any, at: Any, end: Any, interfaces: Any, hints: Any, near: Any, pairs: Any) -> Any:
    """The same of the enhanced packet blocks of a pcapng of little-endian numbers; stops at any other block too.

    `interfaces`: see `pcapng.Section.plain`.
    """
    n, most = _0, np.uint64(len(hints))
    while n < most and at + 12 <= end:
        length = little(buffer + at + 4)
        if little(buffer + at) != ENHANCED or length < _LEAST or length > MAX_BLOCK or length & 3:
            return n, at, DAMAGED
        if at + length > end:
            break
        number, captured = little(buffer + at + 8), little(buffer + at + 20)
        if little(buffer + at + length - 4) != length or number >= len(interfaces) or captured > length - _LEAST:
            return n, at, DAMAGED
        hint, link_type = hints[n], interfaces[number, 0]
        ticks = np.uint64(little(buffer + at + 12)) << _32 | np.uint64(little(buffer + at + 16))
        hint.time_ns = np.int64(ticks * np.uint64(interfaces[number, 1]) + np.uint64(interfaces[number, 2]))
        hint.at = buffer + at + 28
        hint.captured, hint.wire, hint.link_type = captured, little(buffer + at + 24), link_type
        hint.what = UNCOMMON
        if captured >= COMMON and link_type == 1:
            glance(hint, near, pairs)
        at += length
        n += _1
    return n, at, WHOLE


@part
def glance_frames(data: Any, frames: Any, start: Any, stop: Any, hints: Any, near: Any, pairs: Any) -> None:
    """Hints of some frames of a batch."""
    link_type, time_ns, offset, captured, wire = frames
    for k in range(start, stop):
        hint = hints[k - start]
        hint.time_ns, hint.at = time_ns[k], data + offset[k]
        hint.captured, hint.wire, hint.link_type = captured[k], wire[k], link_type[k]
        hint.what = UNCOMMON
        if captured[k] >= COMMON and link_type[k] == 1:
            glance(hint, near, pairs)


@part
def seek(t: Any, hints: Any, n: Any) -> None:
    """Find the flows that the first hints lead to, -1 where to none, and have them fetched."""
    for k in range(n):
        hint = hints[k]
        hint.flow = t.near[hint.flow] if hint.what != UNCOMMON and hint.flow >= 0 else -1
        if hint.flow >= 0:
            prefetch(t.flows, hint.flow)
            prefetch(t.records, hint.flow)


@part
def syndrome(hint: Any) -> Any:
    """What an acknowledgment says, -1 where it was cut off before."""
    return np.int64(octet(hint.at + _AETH)) if hint.captured >= _AETH + headers.AETH_OCTETS else np.int64(-1)
