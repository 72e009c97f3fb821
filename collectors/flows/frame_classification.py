"""Classify frames in a few steps, compiled: recognise Ethernet, IPv4 and RoCEv2 or TCP, leave all others to the decoder.

A hint stores the place of a frame until it is followed, and its flow if the frame was recognised. Otherwise the hint says that
the frame needs the decoder.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.addresses.address_book import codes_of, fetch_codes, pair_slot
from collectors.captures.pcapng import ENHANCED, LEAST, MAX_BLOCK, SECOND
from collectors.captures.record_framing import DAMAGED, DAY_NS, WHOLE
from collectors.columns.record import ROCE_PORT, TCP, UDP
from collectors.compilation.primitives import double, hashed, little, long, octet, part, plain, prefetch, short
from collectors.flows.flow_state import ANSWERS, KIND_AT, LANE, REQUESTS, fetch_flow
from collectors.packets import headers
from collectors.packets.common_frames import COMMON, ENDS_AT
from collectors.packets.packet_kinds import ACKNOWLEDGMENT, ANSWER, BEGINS, DATA, MEANING
from collectors.packets.packet_signs import ECN, FLAGS_AT, PLAIN, PSN_AT, SEQUENCE_AT, UNKNOWN, opcode_of, payload_of
from collectors.packets.truncation import fits

UNCOMMON, GOES_ON, STARTS, ACKNOWLEDGES, SEGMENT = range(5)  # the first: anything; a packet of a message that began before
HINT = np.dtype(
    [
        *((name, np.int64) for name in ("time_ns", "at", "flow")),  # address of the frame; where its flow may be found
        *((name, np.uint64) for name in ("ends", "rest")),  # the addresses; the rest of its flow's identity, see `identity_of`
        ("sign", np.uint64),
        ("lengths", np.uint64),  # octets captured and, in the upper half, on the wire
        ("link_type", np.int64),
    ],
    align=True,
)  # one line of the cache


def _meaning_of(opcode: int) -> int:
    """Tables by opcode: kind of packet, and kind of its flow if it is in an identity."""
    meaning = int(MEANING[opcode])
    what = UNCOMMON
    if meaning & 7 == DATA:
        what = STARTS if meaning & BEGINS else GOES_ON
    elif meaning == ACKNOWLEDGMENT and headers.AETH_AT[opcode] == 0:
        what = ACKNOWLEDGES
    return what | (ANSWERS if meaning & ANSWER else REQUESTS) << int(KIND_AT)


_MEANINGS = np.array([_meaning_of(opcode) for opcode in range(256)], np.uint64)
# As they are in memory, on processors that have the lowest octet first: type of the frame, version and header length; fragment
# and protocol
_PLAIN, _PLAIN_BITS = headers.IPV4 >> 8 | (headers.IPV4 & 0xFF) << 8 | 0x45 << 16, 0xFFFFFF
_UDP, _TCP, _PROTOCOL_BITS = UDP << 24, TCP << 24, 0xFF00FF3F
_LANE, _QP, _LENGTH, _WHAT = (
    np.uint64(LANE << int(KIND_AT) | TCP << 32),
    np.uint64(0xFFFFFF),
    np.uint64(0xFFFFFFFF),
    np.uint64(7),
)
_32 = np.uint64(32)
_M1, _M2, _0, _1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0), np.uint64(1)
_LEAST, _TWO_DAYS = LEAST[ENHANCED], np.uint64(2 * DAY_NS)
MANY = 8  # packets of `flow_tracking.AHEAD` with possibly new flows, from which on their flows are searched together
_EARLY = np.uint64(8)  # packets by which the slots of addresses are prefetched before their search
_AETH = 54  # offset of the AETH of an acknowledgment


@part
def near_slot(hint: Any, near: Any) -> Any:
    """Return the place in `near` for the flow of a packet."""
    return np.int64((hint.ends * _M1 >> _32 ^ hint.rest) * _M2 >> _32 & np.uint64(len(near) - 1))


@part
def classify(hint: Any, ethernet: Any, near: Any, seen: Any) -> None:
    """Classify the frame at an address, and prefetch the place of its flow in `near`. `seen`: see `truncation.array`."""
    begin = hint.at
    plain_ip = ethernet and captured_of(hint) >= COMMON and little(begin + 12) & _PLAIN_BITS == _PLAIN
    if plain_ip and fits(packet_of(hint), length_of(hint), seen):
        protocol = little(begin + 20) & _PROTOCOL_BITS
        if protocol == _UDP and short(begin + 36) == ROCE_PORT:
            _glance_roce(hint, begin, near)
            return
        if protocol == _TCP and _glance_tcp(hint, begin, near):
            return
    hint.sign, hint.flow = UNKNOWN, -1


@part
def _glance_roce(hint: Any, begin: Any, near: Any) -> None:
    numbers = double(begin + 46)  # QP and PSN, each below 8 other bits
    opcode = np.uint64(short(begin + 42)) << FLAGS_AT
    hint.sign = numbers << PSN_AT | opcode | np.uint64(long(begin + 14) & PLAIN)
    hint.ends, hint.rest = plain(begin + ENDS_AT), numbers >> _32 & _QP
    hint.flow = near_slot(hint, near)
    prefetch(near, hint.flow)


@part
def _glance_tcp(hint: Any, begin: Any, near: Any) -> Any:
    header = (octet(begin + 46) >> 4) * 4
    octets = short(begin + 16) - 20 - header
    if header < 20 or octets < 0:
        return False
    ecn, flags = np.uint64(long(begin + 14)) & ECN, np.uint64(octet(begin + 47))
    hint.sign = np.uint64(long(begin + 38)) << SEQUENCE_AT | flags << FLAGS_AT | ecn | np.uint64(octets)
    hint.ends, hint.rest = plain(begin + ENDS_AT), _LANE | np.uint64(long(begin + 34))
    hint.flow = near_slot(hint, near)
    prefetch(near, hint.flow)
    return True


@part
def identity_of(hint: Any) -> Any:
    """Return the kind of a frame and the rest of its flow's identity; for RoCEv2, `hint.rest` lacks the kind of flow."""
    if hint.sign == UNKNOWN:
        return UNCOMMON, _0
    if hint.rest >> KIND_AT != _0:
        return SEGMENT, hint.rest
    meaning = _MEANINGS[opcode_of(hint.sign)]
    what = np.int64(meaning & _WHAT) if payload_of(hint.sign) >= 0 else UNCOMMON
    return what, hint.rest | meaning >> KIND_AT << KIND_AT


@part
def captured_of(hint: Any) -> Any:
    """Return the number of captured octets of a frame."""
    return np.int64(hint.lengths & _LENGTH)


@part
def wire_of(hint: Any) -> Any:
    """Return the number of octets on the wire, as written in the file."""
    return np.int64(hint.lengths >> _32)


@part
def length_of(hint: Any) -> Any:
    """Return the number of octets on the wire: at least the captured ones."""
    return max(wire_of(hint), captured_of(hint))


@part
def packet_of(hint: Any) -> Any:
    """Return the length of the packet in a bare Ethernet frame, from its IPv4 header, octets."""
    return short(hint.at + 16)


@part
def classify_records(buffer: Any, at: Any, end: Any, how: Any, last_ns: Any, hints: Any, near: Any, seen: Any) -> Any:
    """Classify the next complete records of a little-endian pcap, up to the available room.

    Returns their number, the place of the next, and the reason of the stop, as in `record_framing.scan_records`. `last_ns`:
    time of the previous packet. No record is taken before the header of the next is visible, which is odd if its length is
    damaged.
    """
    header, _, unit, limit, link_type = how
    n, most, longest, ethernet = _0, np.uint64(len(hints)), SECOND // unit, link_type == 1
    start, earliest = at, last_ns - DAY_NS
    while at + header <= end:
        captured, fraction = little(buffer + at + 8), little(buffer + at + 4)
        time_ns = little(buffer + at) * SECOND + fraction * unit
        if captured > limit or fraction > longest or np.uint64(time_ns - earliest) > _TWO_DAYS:
            return n - _1 if n else n, start, DAMAGED
        if n == most or at + header + captured > end:
            return n, at, WHOLE
        hint = hints[n]
        hint.time_ns, hint.at = time_ns, buffer + at + header
        hint.lengths, hint.link_type = plain(buffer + at + 8), link_type
        classify(hint, ethernet, near, seen)
        start = at
        at += header + captured
        n += _1
    return n - _1 if n else n, start, WHOLE


@part
def classify_blocks(buffer: Any, at: Any, end: Any, interfaces: Any, last_ns: Any, hints: Any, near: Any, seen: Any) -> Any:
    """Classify the next enhanced packet blocks of a little-endian pcapng; stops at other blocks as well.

    `interfaces`: see `pcapng.Section.plain`.
    """
    n, most, earliest = _0, np.uint64(len(hints)), last_ns - DAY_NS
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
        time_ns = np.int64(ticks * np.uint64(interfaces[number, 1]) + np.uint64(interfaces[number, 2]))
        if np.uint64(time_ns - earliest) > _TWO_DAYS:
            return n, at, DAMAGED
        hint.time_ns, hint.at = time_ns, buffer + at + 28
        hint.lengths, hint.link_type = plain(buffer + at + 20), link_type
        classify(hint, link_type == 1, near, seen)
        at += length
        n += _1
    return n, at, WHOLE


@part
def classify_frames(data: Any, frames: Any, start: Any, stop: Any, hints: Any, near: Any, seen: Any) -> None:
    """Classify some frames of a batch."""
    link_type, time_ns, offset, captured, wire = frames
    for k in range(start, stop):
        hint = hints[k - start]
        hint.time_ns, hint.at = time_ns[k], data + offset[k]
        hint.lengths, hint.link_type = np.uint64(captured[k]) | np.uint64(wire[k]) << _32, link_type[k]
        classify(hint, link_type[k] == 1, near, seen)


@part
def find_flows(t: Any, hints: Any, n: Any, book: Any) -> Any:
    """Find the flows of the first hints, -1 if unknown, and prefetch them; return the number of possible new ones.

    `book`: keys, slots and pairs of the address book.
    """
    keys, slots, pairs = book
    new = np.int64(0)
    for k in range(n):
        hint = hints[k]
        if hint.flow >= 0:
            hint.flow = np.int64(t.near[hint.flow]) - 1
            if hint.flow >= 0:
                prefetch(t.flows, hint.flow)
            elif identity_of(hint)[0] in (GOES_ON, STARTS, SEGMENT):
                if new < MANY:  # from there on `resolve` prefetches them
                    fetch_codes(hint.ends, keys, slots)
                new += 1
            else:
                prefetch(pairs, np.int64(pair_slot(hint.ends)))
    return new


@part
def resolve(t: Any, hints: Any, n: Any, book: Any, known: Any, found: Any, seed: Any) -> Any:
    """Find the addresses of the first hints without a flow, up to a frame that needs the decoder.

    Writes the identities of their flows to `found`, and prefetches their slots. Returns the hint reached, and the number of
    known addresses: codes follow the order of the frames.
    """
    keys, slots, pairs = book
    for k in range(min(n, _EARLY)):
        _check_flow(t, hints[k], keys, slots)
    for k in range(n):
        if k + _EARLY < n:
            _check_flow(t, hints[k + _EARLY], keys, slots)
        hint = hints[k]
        what, rest = identity_of(hint)
        if what == UNCOMMON:
            return k, known
        if hint.flow >= 0:
            continue
        ends, known = codes_of(hint.ends, pairs, keys, slots, known)
        key = found[k]
        key.ends, key.rest, key.hash = ends, rest, hashed(ends, rest, seed)
        if what != ACKNOWLEDGES:
            fetch_flow(t, key.hash)
    return n, known


@part
def _check_flow(t: Any, hint: Any, keys: Any, slots: Any) -> None:
    """Drop the flow of a hint if it is another one, and prefetch the slots of the addresses if there is no flow."""
    if hint.flow >= 0:
        flow = t.flows[np.uint64(hint.flow)]
        if flow.raw == hint.ends and flow.rest == identity_of(hint)[1]:
            return
        hint.flow = -1
    fetch_codes(hint.ends, keys, slots)


@part
def syndrome(hint: Any) -> Any:
    """Return the syndrome of an acknowledgment, -1 if it was truncated before."""
    return np.int64(octet(hint.at + _AETH)) if captured_of(hint) >= _AETH + headers.AETH_OCTETS else np.int64(-1)
