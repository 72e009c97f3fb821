"""Decode TCP, UDP, and the BTH of RoCE and InfiniBand, compiled; the same results as `plain_decoder`."""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.columns.record import ROCE_PORT, TCP, UDP, UET_PORT
from collectors.compilation.primitives import long, octet, part, rare, short
from collectors.packets import headers
from collectors.packets.compiled_decoder.ultra_ethernet_layer import OPAQUE, unpack_uet
from collectors.packets.infiniband import IBA
from collectors.packets.protocols import BAD, KEPT, TRUNCATED

_EXTENDED_OCTETS, _RETH_AT = np.array(headers.EXTENDED_OCTETS, np.int64), np.array(headers.RETH_AT, np.int64)
_AETH_AT = np.array(headers.AETH_AT, np.int64)


@part
def transport(number: Any, at: Any, end: Any, room: Any, row: Any) -> Any:
    """The verdict on what IP carries, or InfiniBand; writes what it says into the row. `room`: octets there are of it."""
    if number == TCP:
        return _tcp(at, end, room, row)
    return _infiniband(at, end, room, row) if number == IBA else _udp(at, end, room, row)


@part
def _infiniband(at: Any, end: Any, room: Any, row: Any) -> Any:
    """As of RoCEv2; the mark of congestion is in the BTH."""
    if room < headers.BTH_OCTETS:
        return BAD
    if at + headers.BTH_OCTETS > end:
        return TRUNCATED
    row.src_port, row.dst_port, row.ecn = 0, ROCE_PORT, octet(at + 4) >> 7 == 1
    return _roce(at, end, room, row)


@part
def _tcp(at: Any, end: Any, room: Any, row: Any) -> Any:
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
    row.dst_qp, row.dma_length, row.job_id = 0, -1, 0
    return KEPT


@part
def _udp(start: Any, end: Any, length: Any, row: Any) -> Any:
    at, room, dst_port = start + 8, length - 8, short(start + 2)
    roce = dst_port == ROCE_PORT
    if room < (headers.BTH_OCTETS if roce else 0):
        return BAD
    row.src_port, row.dst_port = short(start), dst_port
    if roce:
        return _roce(at, end, room, row)
    row.protocol, row.octets, row.opcode = UDP, room, -1
    row.sequence = row.acknowledgment = row.tcp_flags = row.dst_qp = row.job_id = 0
    row.dma_length = row.syndrome = -1
    if dst_port == UET_PORT:
        verdict = unpack_uet(at, end, room, short(start + 4) - 8, row) if at <= end else TRUNCATED
        return KEPT if verdict == OPAQUE else verdict
    return KEPT


@rare
def _roce(at: Any, end: Any, room: Any, row: Any) -> Any:
    """The BTH and what follows it."""
    inner = at + headers.BTH_OCTETS
    if inner > end:
        return TRUNCATED
    opcode = octet(at)
    row.protocol, row.opcode = UDP, opcode
    row.acknowledgment = row.tcp_flags = row.job_id = 0
    row.dma_length = row.syndrome = -1
    row.dst_qp, row.sequence = long(at + 4) & 0xFFFFFF, long(at + 8) & 0xFFFFFF
    rest = room - headers.BTH_OCTETS - _EXTENDED_OCTETS[opcode] - (octet(at + 1) >> 4 & 3) - headers.ICRC_OCTETS
    row.octets = max(0, rest)
    reth_at, aeth_at = _RETH_AT[opcode], _AETH_AT[opcode]
    if reth_at >= 0 and inner + reth_at + headers.RETH_OCTETS <= end:
        row.dma_length = long(inner + reth_at + 12)
    if aeth_at >= 0 and inner + aeth_at + headers.AETH_OCTETS <= end:
        row.syndrome = octet(inner + aeth_at)
    return KEPT
