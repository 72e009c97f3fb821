"""Detect frames that a mirror port truncated, and reject frames whose IP length only claims to exceed the frame.

A truncating mirror also changes the wire length in the file: the frame on the wire is shorter than its IP packet. It truncates
many frames to the same length, and none of its frames is longer. A single damaged or forged frame looks the same. So such a
frame counts as truncated while no longer whole frame was seen, or after `ENOUGH` similar frames of exactly its length (of
several mirrors in one file, only one may truncate). This is wrong if `ENOUGH` forged frames have one length.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.primitives import part

ENOUGH = 16  # frames of one length
MOST_PACKET = 10_240  # octets: longest packet that a mirror can have seen; the longest frames of switches are shorter
LENGTHS = 2048  # octets: longer frames share a counter; mirrors truncate to a few hundred octets
_LAST = LENGTHS - 1


class Cuts:
    """Frame lengths seen so far; `array` is the form for compiled code: longest whole frame, then truncated frames by
    length.
    """

    def __init__(self) -> None:
        self.longest = 0
        self.counts: Counter[int] = Counter()

    def is_cut(self, wire_length: int) -> bool:
        """Check whether a mirror truncated a frame with a longer packet, and count it."""
        slot = min(wire_length + 1, _LAST)
        self.counts[slot] += 1
        return self.longest <= wire_length or self.counts[slot] >= ENOUGH

    def keep(self, wire_length: int) -> None:
        """Record a whole frame."""
        self.longest = max(self.longest, wire_length)


def array() -> NDArray[np.int64]:
    """Return the empty state for compiled code."""
    return np.zeros(LENGTHS, np.int64)


@part
def slot_of(wire_length: Any) -> Any:
    """Return the counter of frames of a length."""
    return min(np.int64(wire_length) + 1, _LAST)


@part
def is_cut(cuts: Any, wire_length: Any) -> Any:
    """Compute `Cuts.is_cut`, compiled."""
    slot = slot_of(wire_length)
    cuts[slot] += 1
    return cuts[0] <= wire_length or cuts[slot] >= ENOUGH


@part
def fits(octets: Any, wire_length: Any, cuts: Any) -> Any:
    """Check whether the packet in a bare Ethernet frame has the length it claims, or was certainly truncated by a mirror."""
    if octets + 14 <= wire_length:
        return True
    return octets <= MOST_PACKET and cuts[slot_of(wire_length)] >= ENOUGH


@part
def keep(cuts: Any, octets: Any, wire_length: Any) -> None:
    """Compute `Cuts.keep` for a bare Ethernet frame, if it is whole, compiled."""
    if wire_length > cuts[0] and octets + 14 <= wire_length:
        cuts[0] = wire_length
