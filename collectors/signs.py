"""What a packet is in one number, its sign: whether it is the one that was expected, a single comparison tells.

In bits 0 to 15 the octets of its payload, 16 to 18 what it is, 19 whether it ends a message, 20 and 21 ECN, 24 to 31 its TCP
flags, and in the upper half its sequence number, or its PSN in bits 40 to 63: either begins anew by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from collectors.wire import part

UNCOMMON, GOES_ON, STARTS, ACKNOWLEDGES, SEGMENT = range(5)  # the first: anything; a packet of a message that began before
WHAT_AT, END_AT, ECN_AT, FLAGS_AT, SEQUENCE_AT, PSN_AT = (np.uint64(at) for at in (16, 19, 20, 24, 32, 40))
NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)  # no packet's
_OCTETS, _FLAGS, _ECN = np.uint64(0xFFFF), np.uint64(0xFF), np.uint64(3 << 20)
_WHAT, _END, _SEGMENT, _GOES_ON = np.uint64(7 << 16), np.uint64(1 << 19), np.uint64(SEGMENT << 16), np.uint64(GOES_ON << 16)
_PACKET, _0 = np.uint64(1 << 40), np.uint64(0)


@part
def what_of(sign: Any) -> Any:
    """What a packet is."""
    return np.int64((sign & _WHAT) >> WHAT_AT)


@part
def octets_of(sign: Any) -> Any:
    """The octets of its payload."""
    return np.int64(sign & _OCTETS)


@part
def psn_of(sign: Any) -> Any:
    """Its PSN."""
    return np.int64(sign >> PSN_AT)


@part
def sequence_of(sign: Any) -> Any:
    """Its sequence number."""
    return np.int64(sign >> SEQUENCE_AT)


@part
def flags_of(sign: Any) -> Any:
    """Its TCP flags."""
    return np.int64(sign >> FLAGS_AT & _FLAGS)


@part
def is_marked(sign: Any) -> Any:
    """Whether it met congestion; RFC 3168 section 5."""
    return sign & _ECN == _ECN


@part
def is_end(sign: Any) -> Any:
    """Whether it ends a message."""
    return sign & _END != _0


@part
def after(sign: Any) -> Any:
    """The sign of the next packet where that is like this one."""
    return sign + ((sign & _OCTETS) << SEQUENCE_AT if sign & _SEGMENT else _PACKET)


@part
def going_on(sign: Any) -> Any:
    """The sign of a packet that was the same but neither began its message nor ended it."""
    return sign & ~(_WHAT | _END) | _GOES_ON
