"""One captured frame after another to rows of `ROW`, compiled: the same answers as `packet.unpack`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors import headers, packet
from collectors.addresses import code_of, codes_of
from collectors.commonframes import COMMON, ENDS_AT, common
from collectors.links import BAD, FRAGMENT, KEPT, NESTED, NOT_TCP_OR_UDP, TRUNCATED, gre, link, of_type
from collectors.record import ROCE_PORT, TCP, UDP, Packets
from collectors.wire import compiled, double, long, octet, part, plain, short

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
    ],
    align=True,
)  # a packet, in one line of a processor's cache; `kind` and `flow` are filled in by who follows flows

_WIDER = {"octets": np.int64}
PLACE = np.dtype([(name, np.uint64) for name in ("src_high", "src_low", "dst_high", "dst_low")])  # its addresses

_EXTENDED_OCTETS, _RETH_AT = np.array(headers.EXTENDED_OCTETS, np.int64), np.array(headers.RETH_AT, np.int64)
_AETH_AT = np.array(headers.AETH_AT, np.int64)
_HOP_BY_HOP, _ROUTING, _, _, _DESTINATION = headers.EXTENSIONS
_GRE, _VXLAN, _VXLAN_FRAME = 1, 2, 8 + headers.VXLAN_OCTETS  # where, after an UDP header, the frame starts
_MOST_TUNNELS = packet.MOST_TUNNELS
_MAPPED, _NONE, _1, _32 = np.uint64(0xFFFF << 32), np.uint64(0), np.uint64(1), np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)


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
def unpack_frames(data: int, frames: Any, rows: Any, book: Any, places: Any, counts: Any) -> Any:
    """Write the rows of frames that have one; how many those are, and how many addresses are known then.

    `data` is the address of a buffer, in which all frames must lie; `frames`: link type, time, offset, captured and wire
    length of each; `book`: `AddressBook.tables`, `pairs`. Counts the verdicts on frames without a row in `counts`.
    """
    link_type, time_ns, offset, captured, wire = frames
    keys, slots, known, pairs = book
    n, place = np.uint64(0), places[0]
    for i in range(np.uint64(len(link_type))):
        begin = data + offset[i]
        end, wire_end = begin + captured[i], begin + max(wire[i], captured[i])
        verdict, known = unpack_one(begin, end, wire_end, link_type[i], rows[n], place, (keys, slots, known, pairs))
        if verdict == KEPT:
            rows[n].time_ns = time_ns[i]
            n += _1
        else:
            counts[verdict] += 1
    return np.int64(n), known


@part
def unpack_one(begin: Any, end: Any, wire_end: Any, link_type: Any, row: Any, place: Any, book: Any) -> Any:
    """The verdict on one frame, and how many addresses are known; writes its row but for the time."""
    keys, slots, known, pairs = book
    if link_type == 1 and end - begin >= COMMON and common(begin, end, row):
        ends, known = codes_of(plain(begin + ENDS_AT), pairs, keys, slots, known)
        row.src, row.dst = np.int32(ends >> _32), np.int32(ends & _LOWER)
        return KEPT, known
    verdict = _unpack(begin, end, wire_end, link_type, row, place)
    if verdict == KEPT:
        row.src, known = code_of(place.src_high, place.src_low, keys, slots, known)
        row.dst, known = code_of(place.dst_high, place.dst_low, keys, slots, known)
    return verdict, known


@part
def _unpack(begin: Any, end: Any, wire_end: Any, link_type: Any, row: Any, place: Any) -> Any:
    """The verdict on one frame; writes its row but for the time."""
    verdict, version, at = link(begin, end, link_type)
    if verdict != KEPT:
        return verdict
    for depth in range(_MOST_TUNNELS + 1):
        verdict, protocol, at, room = _network(version, at, end, wire_end, row, place)
        if verdict != KEPT:
            return verdict
        if protocol == TCP:
            return _tcp(at, end, room, row)
        verdict, tunnel = _tunnel(protocol, at, end, room)
        if verdict != KEPT:
            return verdict
        if not tunnel:
            return _udp(at, end, room, row)
        if depth < _MOST_TUNNELS:
            if tunnel == _VXLAN:
                verdict, version, at = of_type(at + _VXLAN_FRAME + 12, at + _VXLAN_FRAME + 14, end)
            else:
                verdict, version, at = gre(at, end, at + room)
            if verdict != KEPT:
                return verdict
    return NESTED


@part
def _tunnel(protocol: Any, at: Any, end: Any, room: Any) -> Any:
    """Verdict, and in which tunnel, if any, IP carries a packet or frame."""
    if protocol == headers.GRE:
        return KEPT, _GRE
    if protocol != UDP:
        return NOT_TCP_OR_UDP, 0
    if at + 4 > end:
        return TRUNCATED, 0
    if short(at + 2) != headers.VXLAN_PORT or room < _VXLAN_FRAME:
        return KEPT, 0
    if at + _VXLAN_FRAME > end:
        return TRUNCATED, 0
    return KEPT, _VXLAN if octet(at + 8) & headers.VXLAN_VALID else 0


@part
def _network(version: Any, at: Any, end: Any, wire_end: Any, row: Any, place: Any) -> Any:
    """Verdict, protocol, where what IP carries starts and how many octets that has."""
    if version == 4:
        return _ipv4(at, end, wire_end, row, place)
    return _ipv6(at, end, wire_end, row, place)


@part
def _ipv4(at: Any, end: Any, wire_end: Any, row: Any, place: Any) -> Any:
    if at + 20 > end:
        return TRUNCATED, 0, at, at
    first = octet(at)
    length = short(at + 2)
    header = (first & 0x0F) * 4
    if length == 0:
        length = wire_end - at
    if first >> 4 != 4 or header < 20 or length < header:
        return BAD, 0, at, at
    if short(at + 6) & 0x3FFF:
        return FRAGMENT, 0, at, at
    row.ecn = octet(at + 1) & 3 == headers.CONGESTION_EXPERIENCED
    row.ip_id = short(at + 4)
    place.src_high = place.dst_high = _NONE
    place.src_low, place.dst_low = _MAPPED | np.uint64(long(at + 12)), _MAPPED | np.uint64(long(at + 16))
    return KEPT, octet(at + 9), at + header, length - header


@part
def _ipv6(at: Any, end: Any, wire_end: Any, row: Any, place: Any) -> Any:
    if at + 40 > end:
        return TRUNCATED, 0, at, at
    label, length, protocol = long(at), short(at + 4), octet(at + 6)
    if label >> 28 != 6:
        return BAD, 0, at, at
    row.ecn = label >> 20 & 3 == headers.CONGESTION_EXPERIENCED
    row.ip_id = label & 0xFFFFF
    place.src_high, place.src_low, place.dst_high, place.dst_low = (
        double(at + 8),
        double(at + 16),
        double(at + 24),
        double(at + 32),
    )
    at += 40
    until = at + length if length else wire_end
    while True:
        fragmented, authentication = protocol == headers.FRAGMENTED, protocol == headers.AUTHENTICATION
        others = protocol in (_HOP_BY_HOP, _ROUTING, _DESTINATION)
        if not (fragmented or authentication or others):
            return KEPT, protocol, at, until - at
        if at + 4 > end:
            return TRUNCATED, 0, at, at
        if fragmented and short(at + 2) & 0xFFF9:
            return FRAGMENT, 0, at, at
        protocol, words = octet(at), octet(at + 1)
        at += 8 if fragmented else (words + 2) * 4 if authentication else (words + 1) * 8
        if at > until:
            return BAD, 0, at, at


@part
def _tcp(at: Any, end: Any, room: Any, row: Any) -> int:
    if at + 14 > end:
        return TRUNCATED
    header = (octet(at + 12) >> 4) * 4
    if header < 20 or header > room:
        return BAD
    row.protocol, row.octets = TCP, room - header
    row.src_port, row.dst_port = short(at), short(at + 2)
    row.sequence, row.acknowledgment = long(at + 4), long(at + 8)
    row.tcp_flags = octet(at + 13)
    row.opcode = row.syndrome = -1
    row.dst_qp, row.dma_length = 0, -1
    return KEPT


@part
def _udp(start: Any, end: Any, length: Any, row: Any) -> int:
    at, room, dst_port = start + 8, length - 8, short(start + 2)
    roce = dst_port == ROCE_PORT
    if room < (headers.BTH_OCTETS if roce else 0):
        return BAD
    row.protocol, row.src_port, row.dst_port = UDP, short(start), dst_port
    row.acknowledgment = 0
    row.tcp_flags = 0
    row.dma_length, row.syndrome = -1, -1
    if not roce:
        row.octets = room
        row.sequence = row.dst_qp = 0
        row.opcode = -1
        return KEPT
    inner = at + headers.BTH_OCTETS
    if inner > end:
        return TRUNCATED
    opcode = octet(at)
    row.opcode = opcode
    row.dst_qp, row.sequence = long(at + 4) & 0xFFFFFF, long(at + 8) & 0xFFFFFF
    rest = room - headers.BTH_OCTETS - _EXTENDED_OCTETS[opcode] - (octet(at + 1) >> 4 & 3) - headers.ICRC_OCTETS
    row.octets = max(0, rest)
    reth_at, aeth_at = _RETH_AT[opcode], _AETH_AT[opcode]
    if reth_at >= 0 and inner + reth_at + headers.RETH_OCTETS <= end:
        row.dma_length = long(inner + reth_at + 12)
    if aeth_at >= 0 and inner + aeth_at + headers.AETH_OCTETS <= end:
        row.syndrome = octet(inner + aeth_at)
    return KEPT
