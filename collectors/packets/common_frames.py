"""Recognise the most common frames in a few steps: Ethernet without tags, IPv4 without options, RoCEv2 or TCP.

All other frames are decoded header by header in `frame_decoder`, with equal results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.columns.record import ROCE_PORT, TCP, UDP
from collectors.compilation.primitives import double, long, octet, part
from collectors.packets import headers

COMMON = 54  # least octets of such a frame: up to TCP without options, or a BTH
ENDS_AT = 26  # offset of the IP addresses
_PLAIN = np.uint64(headers.IPV4 << 8 | 0x45)  # type of the frame; version and header length
_IP, _UPPER, _REST = 20, 34, 54  # offsets: fragment field of IPv4, its payload, octets behind a BTH
_ROCE, _UDP, _TCP = np.uint64(ROCE_PORT), np.uint64(UDP), np.uint64(TCP)
_8, _16, _32, _40, _48, _56 = (np.uint64(bits) for bits in (8, 16, 32, 40, 48, 56))
_OCTET, _SHORT, _QP, _FRAGMENT = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0xFFFFFF), np.uint64(0x3FFF)
_ECN, _CONGESTED = np.uint64(3), np.uint64(headers.CONGESTION_EXPERIENCED)
HEADERS = 20 + 8 + headers.BTH_OCTETS  # IPv4, UDP, BTH
# By opcode: octets before the payload and after it, where RETH and AETH start, counted from the end of the BTH
AROUND = np.array(headers.EXTENDED_OCTETS, np.int64) + headers.ICRC_OCTETS + HEADERS
_RETH, _AETH = np.array(headers.RETH_AT, np.int64), np.array(headers.AETH_AT, np.int64)


@part
def common(begin: Any, end: Any, row: Any) -> bool:
    """Decode an Ethernet frame of at least `COMMON` octets if it is common; returns whether, and its row without time
    and addresses.
    """
    head, middle = double(begin + 12), double(begin + _IP)
    if head >> _40 != _PLAIN or middle >> _48 & _FRAGMENT != 0:
        return False
    length, protocol = np.int64(head >> _16 & _SHORT), middle >> _32 & _OCTET
    if protocol == _UDP:
        if not _roce(begin, end, length, row):
            return False
    elif protocol != _TCP or not _tcp(begin, length, row):
        return False
    row.ecn = head >> _32 & _ECN == _CONGESTED
    row.ip_id = head & _SHORT
    row.job_id = 0
    return True


@part
def _roce(begin: Any, end: Any, length: Any, row: Any) -> bool:
    ports, transport = long(begin + _UPPER), double(begin + _UPPER + 8)
    if ports & 0xFFFF != ROCE_PORT or length < HEADERS:
        return False
    opcode = transport >> _56
    row.protocol, row.src_port, row.dst_port = UDP, ports >> 16, ROCE_PORT
    row.opcode = opcode
    row.dst_qp, row.sequence = transport & _QP, long(begin + _UPPER + 16) & 0xFFFFFF
    row.acknowledgment = row.tcp_flags = 0
    pad = np.int64(transport >> _48) >> 4 & 3
    row.octets = max(0, length - AROUND[opcode] - pad)
    reth, aeth = _RETH[opcode], _AETH[opcode]
    row.dma_length = row.syndrome = -1
    if reth >= 0 and begin + _REST + reth + headers.RETH_OCTETS <= end:
        row.dma_length = long(begin + _REST + reth + 12)
    if aeth >= 0 and begin + _REST + aeth + headers.AETH_OCTETS <= end:
        row.syndrome = octet(begin + _REST + aeth)
    return True


@part
def _tcp(begin: Any, length: Any, row: Any) -> bool:
    header, room = (octet(begin + _UPPER + 12) >> 4) * 4, length - 20
    if header < 20 or header > room:
        return False
    ports = long(begin + _UPPER)
    row.protocol, row.src_port, row.dst_port = TCP, ports >> 16, ports & 0xFFFF
    row.octets = room - header
    row.sequence, row.acknowledgment = long(begin + _UPPER + 4), long(begin + _UPPER + 8)
    row.tcp_flags = octet(begin + _UPPER + 13)
    row.opcode = row.syndrome = row.dma_length = -1
    row.dst_qp = 0
    return True
