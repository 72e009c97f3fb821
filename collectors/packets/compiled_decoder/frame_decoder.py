"""Decode captured frames one after another to rows of `ROW`, compiled; the same results as `plain_decoder.unpack`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.addresses.address_book import code_of, codes_of
from collectors.columns.record import Packets
from collectors.compilation.primitives import compiled, double, long, octet, part, plain, short
from collectors.packets import headers, truncation
from collectors.packets.common_frames import COMMON, ENDS_AT, common
from collectors.packets.compiled_decoder.link_layer import link
from collectors.packets.compiled_decoder.network_layer import behind
from collectors.packets.compiled_decoder.transport_layer import transport
from collectors.packets.infiniband import ERF, GLOBAL, IBA, LID_HIGH, LID_LOW, LOCAL, LRH_OCTETS, global_of, record_of
from collectors.packets.protocols import (
    BAD,
    BEYOND,
    FRAGMENT,
    KEPT,
    MOST_LAYERS,
    MOST_TUNNELS,
    NESTED,
    NETWORK,
    PLAIN,
    PROTOCOL,
    REFUSED,
    TRUNCATED,
)

ROW = np.dtype(
    [
        ("time_ns", np.int64),
        ("dma_length", np.int64),
        ("octets", np.uint32),
        ("src", np.int32),
        ("dst", np.int32),
        ("sequence", np.uint32),
        ("acknowledgment", np.uint32),
        ("dst_qp", np.uint32),
        ("ip_id", np.uint32),
        ("src_port", np.uint16),
        ("dst_port", np.uint16),
        ("opcode", np.int16),
        ("syndrome", np.int16),
        ("protocol", np.uint8),
        ("tcp_flags", np.uint8),
        ("ecn", np.bool_),
        ("kind", np.uint8),
        ("flow", np.int32),
        ("job_id", np.uint32),
    ],
    align=True,
)  # a packet, in one line of a processor's cache; `kind` and `flow` are filled in by who follows flows

_WIDER = {"octets": np.int64}
PLACE = np.dtype([(name, np.uint64) for name in ("src_high", "src_low", "dst_high", "dst_low")])  # its addresses

_HOP_BY_HOP, _ROUTING, _, _, _DESTINATION = headers.EXTENSIONS
_LENGTH_AT = 16  # where the length of IPv4 is in a bare frame of Ethernet
_MAPPED, _NONE, _1, _32 = np.uint64(0xFFFF << 32), np.uint64(0), np.uint64(1), np.uint64(32)
_LOWER, _LID_HIGH, _LID_LOW = np.uint64(0xFFFFFFFF), np.uint64(LID_HIGH), np.uint64(LID_LOW)


def packets_of(rows: NDArray[Any]) -> Packets:
    """The columns of rows, copied."""
    return Packets(**{f.name: rows[f.name].astype(_WIDER.get(f.name, ROW[f.name])) for f in fields(Packets)})


def rows_of(packets: Packets) -> NDArray[Any]:
    """The rows of columns."""
    rows = np.zeros(len(packets), ROW)
    for f in fields(Packets):
        rows[f.name] = getattr(packets, f.name)
    return rows


@compiled
def unpack_frames(data: int, frames: Any, rows: Any, book: Any, places: Any, counts: Any, seen: Any) -> Any:
    """Write the rows of frames that have one; how many those are, and how many addresses are known then.

    `data` is the address of a buffer, in which all frames must lie; `frames`: link type, time, offset, captured and wire
    length of each; `book`: `AddressBook.tables`, `pairs`. Counts the verdicts on frames without a row in `counts`.
    `seen`: see `truncation.array`.
    """
    link_type, time_ns, offset, captured, wire = frames
    keys, slots, known, pairs = book
    n, place = np.uint64(0), places[0]
    for i in range(np.uint64(len(link_type))):
        begin = data + offset[i]
        end, wire_end = begin + captured[i], begin + max(wire[i], captured[i])
        book = keys, slots, known, pairs
        verdict, known = unpack_one(begin, end, wire_end, link_type[i], rows[n], place, book, seen)
        if verdict == KEPT:
            rows[n].time_ns = time_ns[i]
            n += _1
        else:
            counts[verdict] += 1
    return np.int64(n), known


@part
def unpack_one(begin: Any, end: Any, wire_end: Any, link_type: Any, row: Any, place: Any, book: Any, seen: Any) -> Any:
    """The verdict on one frame, and how many addresses are known; writes its row but for the time."""
    keys, slots, known, pairs = book
    bare = link_type == 1 and end - begin >= COMMON and truncation.fits(short(begin + _LENGTH_AT), wire_end - begin, seen)
    if bare and common(begin, end, row):
        truncation.keep(seen, short(begin + _LENGTH_AT), wire_end - begin)
        ends, known = codes_of(plain(begin + ENDS_AT), pairs, keys, slots, known)
        row.src, row.dst = np.int32(ends >> _32), np.int32(ends & _LOWER)
        return KEPT, known
    verdict = unpack_any(begin, end, wire_end, link_type, seen, row, place)
    if verdict == KEPT:
        row.src, known = code_of(place.src_high, place.src_low, keys, slots, known)
        row.dst, known = code_of(place.dst_high, place.dst_low, keys, slots, known)
    return verdict, known


@compiled
def unpack_any(begin: Any, end: Any, wire_end: Any, link_type: Any, seen: Any, row: Any, place: Any) -> Any:
    """The verdict on one frame, header by header; writes its row but for the time and the codes of addresses."""
    if link_type == ERF:
        kind, number, at, wire_end = record_of(begin, end)
        wire_end = max(wire_end, end)
    else:
        kind, number, at = link(begin, end, link_type)
    until, networks, beyond = wire_end, 0, False
    for _ in range(MOST_LAYERS):
        if kind == REFUSED:
            return number
        if kind == PLAIN:
            verdict = transport(number, at, end, until - at, row)
            if verdict == KEPT and not beyond and wire_end - begin > seen[0]:
                seen[0] = wire_end - begin
            return verdict
        if at > until:
            return BAD
        if kind != NETWORK:
            kind, number, at = behind(kind, number, at, end, until)
        elif networks > MOST_TUNNELS:
            return NESTED
        else:
            networks += 1
            start, most = at, min(until, wire_end)
            kind, number, at, until, octets = _network(number, at, end, until, row, place)
            if kind != REFUSED and start + octets > most:
                if octets > truncation.MOST_PACKET or not (beyond or truncation.is_cut(seen, wire_end - begin)):
                    return BEYOND
                beyond = True
    return NESTED


@part
def _network(version: Any, at: Any, end: Any, until: Any, row: Any, place: Any) -> Any:
    """What IP carries and where, where that ends, and how many octets the packet has."""
    if version == 4:
        return _ipv4(at, end, until, row, place)
    if version == LOCAL:
        return _local(at, row, place)
    kind, number, inner, until, octets = _ipv6(at, end, until, row, place)
    if version == GLOBAL:
        kind, number = global_of(kind, number)
    return kind, number, inner, until, octets


@part
def _local(at: Any, row: Any, place: Any) -> Any:
    """The LRH of InfiniBand, whose ends have no other addresses."""
    octets = (short(at + 4) & 0x7FF) * 4
    if octets < LRH_OCTETS:
        return REFUSED, BAD, at, at, 0
    row.ip_id = 0
    place.src_high = place.dst_high = _LID_HIGH
    place.src_low, place.dst_low = _LID_LOW | np.uint64(short(at + 6)), _LID_LOW | np.uint64(short(at + 2))
    return PLAIN, IBA, at + LRH_OCTETS, at + octets, octets


@part
def _ipv4(at: Any, end: Any, until: Any, row: Any, place: Any) -> Any:
    if at + 20 > end:
        return REFUSED, TRUNCATED, at, at, 0
    first = octet(at)
    length = short(at + 2)
    header = (first & 0x0F) * 4
    if length == 0:
        length = until - at
    if first >> 4 != 4 or header < 20 or length < header:
        return REFUSED, BAD, at, at, 0
    if short(at + 6) & 0x3FFF:
        return REFUSED, FRAGMENT, at, at, 0
    row.ecn = octet(at + 1) & 3 == headers.CONGESTION_EXPERIENCED
    row.ip_id = short(at + 4)
    place.src_high = place.dst_high = _NONE
    place.src_low, place.dst_low = _MAPPED | np.uint64(long(at + 12)), _MAPPED | np.uint64(long(at + 16))
    return PROTOCOL, octet(at + 9), at + header, at + length, length


@part
def _ipv6(at: Any, end: Any, until: Any, row: Any, place: Any) -> Any:
    if at + 40 > end:
        return REFUSED, TRUNCATED, at, at, 0
    label, length, protocol = long(at), short(at + 4), octet(at + 6)
    if label >> 28 != 6:
        return REFUSED, BAD, at, at, 0
    row.ecn = label >> 20 & 3 == headers.CONGESTION_EXPERIENCED
    row.ip_id = label & 0xFFFFF
    place.src_high, place.src_low, place.dst_high, place.dst_low = (
        double(at + 8),
        double(at + 16),
        double(at + 24),
        double(at + 32),
    )
    octets = length + 40 if length else until - at
    until = at + octets
    at += 40
    while True:
        fragmented, authentication = protocol == headers.FRAGMENTED, protocol == headers.AUTHENTICATION
        others = protocol in (_HOP_BY_HOP, _ROUTING, _DESTINATION)
        if not (fragmented or authentication or others):
            return PROTOCOL, protocol, at, until, octets
        if at + 4 > end:
            return REFUSED, TRUNCATED, at, at, 0
        if fragmented and short(at + 2) & 0xFFF9:
            return REFUSED, FRAGMENT, at, at, 0
        protocol, words = octet(at), octet(at + 1)
        at += 8 if fragmented else (words + 2) * 4 if authentication else (words + 1) * 8
        if at > until:
            return REFUSED, BAD, at, at, 0
