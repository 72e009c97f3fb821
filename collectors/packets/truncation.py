"""Detect frames that a mirror port cut short, and refuse those whose IP length only claims to be longer than the frame.

A mirror that cuts frames leaves the file no other length: the frame on the wire is shorter than its IP packet. It cuts many
frames to the same length, and none of its frames is longer. A damaged or forged frame looks the same for itself. So such a
frame is taken as cut while no longer whole frame was seen, or once `ENOUGH` frames of exactly its length were like it (of
several mirrors in one file, only one may cut). It is wrong where somebody forges that many frames of one length.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.primitives import part

ENOUGH = 16  # frames of one length
MOST_PACKET = 10_240  # octets of a packet that a mirror can have met: the longest frames of switches are shorter
LENGTHS = 2048  # frames that are longer count together: mirrors cut to a few hundred octets
_LAST = LENGTHS - 1


class Cuts:
    """What is known of frames so far; `array` has it for compiled code: the longest whole frame, then cut frames by length."""

    def __init__(self) -> None:
        self.longest = 0
        self.counts: Counter[int] = Counter()

    def is_cut(self, wire_length: int) -> bool:
        """Whether a mirror cut a frame whose packet is longer; counts it."""
        slot = min(wire_length + 1, _LAST)
        self.counts[slot] += 1
        return self.longest <= wire_length or self.counts[slot] >= ENOUGH

    def keep(self, wire_length: int) -> None:
        """Take note of a whole frame."""
        self.longest = max(self.longest, wire_length)


def array() -> NDArray[np.int64]:
    """The same of no frames, for compiled code."""
    return np.zeros(LENGTHS, np.int64)


@part
def slot_of(wire_length: Any) -> Any:
    """Where frames of a length are counted."""
    return min(np.int64(wire_length) + 1, _LAST)


@part
def is_cut(cuts: Any, wire_length: Any) -> Any:
    """As `Cuts.is_cut`."""
    slot = slot_of(wire_length)
    cuts[slot] += 1
    return cuts[0] <= wire_length or cuts[slot] >= ENOUGH


@part
def fits(octets: Any, wire_length: Any, cuts: Any) -> Any:
    """Whether the packet in a bare frame of Ethernet is as long as it says, or surely of a mirror that cuts."""
    if octets + 14 <= wire_length:
        return True
    return octets <= MOST_PACKET and cuts[slot_of(wire_length)] >= ENOUGH


@part
def keep(cuts: Any, octets: Any, wire_length: Any) -> None:
    """As `Cuts.keep` of a bare frame of Ethernet, if it is whole."""
    if wire_length > cuts[0] and octets + 14 <= wire_length:
        cuts[0] = wire_length
