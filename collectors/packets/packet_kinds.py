"""Encode what an RDMA packet does in one number: its kind, and flags about its message.

RoCEv2 and InfiniBand encode it in the opcode of the BTH (0 … 255). For Ultra Ethernet the decoder writes the number itself,
because PDS and SES use several fields: `opcode` of a packet is `UET`, flags and meaning together.
"""

from __future__ import annotations

import numpy as np

from collectors.packets.headers import CNP
from collectors.packets.packet_signs import FIRST, MIDDLE

ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE = 17, 18  # BTH opcodes without the three transport bits, table 38
LAST, ONLY = (2, 3, 8, 9, 15, 22), (4, 5, 10, 11, 16, 23)
RESPONSES = (13, 14, 15, 16, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE)
# Kinds: payload whose message follows from packet order; a request without payload; an acknowledgment, positive or negative;
# a congestion notification; payload that names its message (Ultra Ethernet); a packet of the transport alone.
DATA, OTHER, ACKNOWLEDGMENT, NOTICE, NAMED, CONTROL = range(1, 7)
BEGINS, ENDS, ANSWER = 8, 16, 32  # of a packet with data: it begins a message, ends one, answers a READ
# Ultra Ethernet only: retransmitted, trimmed by a switch, no PSN of its own, opens a context
RESENT, TRIMMED, UET, UNNUMBERED, OPENS = 64, 128, 256, 512, 1024
OPCODES = 2048


def _meaning(opcode: int) -> int:
    operation = opcode & 31
    if opcode >= UET:
        return opcode & (RESENT - 1)
    if opcode == CNP:
        return NOTICE
    if operation == ACKNOWLEDGE:
        return ACKNOWLEDGMENT
    if operation not in FIRST + MIDDLE + LAST + ONLY:
        return OTHER
    begins, ends = operation in FIRST + ONLY, operation in LAST + ONLY
    return DATA | begins * BEGINS | ends * ENDS | (operation in RESPONSES) * ANSWER


MEANING = np.array([_meaning(opcode) for opcode in range(OPCODES)], np.uint8)
