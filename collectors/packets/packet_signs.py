"""Encode a packet's headers in one number, its sign; one comparison shows whether it is the expected packet.

For RoCEv2 in the order of its headers, so that it takes few steps to compute: bits 0 to 15 are the length of the IP packet, 16
and 17 ECN, 24 to 31 the flags of the BTH, 32 to 39 its opcode, 40 to 63 its PSN. For TCP bits 0 to 15 are the octets of
payload, 16 and 17 ECN, 24 to 31 the flags, the upper half the sequence number. PSN and sequence number wrap around without
further steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.compilation.primitives import part
from collectors.packets.common_frames import AROUND

FLAGS_AT, OPCODE_AT, SEQUENCE_AT, PSN_AT = (np.uint64(at) for at in (24, 32, 32, 40))
NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)  # not the sign of a packet: there bits 18 to 23 are 0
UNKNOWN = np.uint64(1 << 18)  # a frame that was not classified
PLAIN = 0x3FFFF  # length and ECN
_LENGTH, _OCTET, ECN = np.uint64(0xFFFF), np.uint64(0xFF), np.uint64(3 << 16)
_PAD_AT, _PAD, _PACKET = np.uint64(28), np.uint64(3), np.uint64(1 << 40)
FIRST, MIDDLE = (0, 6, 13), (1, 7, 14)  # opcodes without the bits of the transport, see `rdma_messages`


def _between(opcode: int) -> int:
    """Return the opcode of packets between the first and the last of a message, from that of the first."""
    operation = opcode & 31
    return opcode - operation + MIDDLE[FIRST.index(operation)] if operation in FIRST else opcode


_BETWEEN = [_between(opcode) for opcode in range(256)]
# By opcode: difference between the signs of a first packet and of a middle one with equal payload
_GOING_ON = np.array(
    [(between - first << 32) + int(AROUND[between] - AROUND[first]) & int(NOTHING) for first, between in enumerate(_BETWEEN)],
    np.uint64,
)


@part
def opcode_of(sign: Any) -> Any:
    """Return the opcode (RoCEv2)."""
    return sign >> OPCODE_AT & _OCTET


@part
def payload_of(sign: Any) -> Any:
    """Return the octets of payload (RoCEv2); negative if the length is too small for the headers."""
    return np.int64(sign & _LENGTH) - AROUND[opcode_of(sign)] - np.int64(sign >> _PAD_AT & _PAD)


@part
def octets_of(sign: Any) -> Any:
    """Return the octets of payload (TCP)."""
    return np.int64(sign & _LENGTH)


@part
def psn_of(sign: Any) -> Any:
    """Return the PSN."""
    return np.int64(sign >> PSN_AT)


@part
def sequence_of(sign: Any) -> Any:
    """Return the sequence number."""
    return np.int64(sign >> SEQUENCE_AT)


@part
def flags_of(sign: Any) -> Any:
    """Return the TCP flags."""
    return np.int64(sign >> FLAGS_AT & _OCTET)


@part
def is_marked(sign: Any) -> Any:
    """Check whether the packet met congestion; RFC 3168 section 5."""
    return sign & ECN == ECN


@part
def after_packet(sign: Any) -> Any:
    """Return the sign of the next packet of RoCEv2 if it continues this one."""
    return sign + _PACKET


@part
def after_segment(sign: Any) -> Any:
    """Return the sign of the next segment of TCP if it continues this one."""
    return sign + ((sign & _LENGTH) << SEQUENCE_AT)


@part
def going_on(sign: Any) -> Any:
    """Return the sign of an equal RoCEv2 packet that does not begin its message."""
    return sign + _GOING_ON[opcode_of(sign)]
