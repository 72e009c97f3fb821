"""Split the records of connections into messages: parts that a one-sided sender sends while the receiver's window allows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import at_half


@compiled
def messages(octets: NDArray[Any], slack: float) -> tuple[Ints, Ints]:
    """Bounds of messages, given the octets of their parts: first and last part of each; none is larger than the largest part.

    A one-sided sender stops when the receiver's window is full. A message may be larger by the share `slack`.
    """
    starts, lasts = np.empty(len(octets), np.int64), np.empty(len(octets), np.int64)
    most = octets.max() * (1 + slack) if len(octets) else 0.0
    n, held = 0, 0.0
    for i in range(len(octets)):
        if n and held + octets[i] <= most:
            held += octets[i]
        else:
            starts[n], held = i, octets[i]
            n += 1
        lasts[n - 1] = i
    return starts[:n], lasts[:n]


@compiled
def transfers(begin: Ints, end: Ints, octets: Ints, firsts: Ints, lasts: Ints, worded: Mask, slack: float) -> tuple[Ints, Ints]:
    """Split non-empty streams into transfers: stream of each, place of its first record.

    The records of a stream, sorted by begin, are at `firsts` to `lasts`. Parts are separated by more than a quarter of a
    typical record. They form `messages`; in a stream whose receiver sends control messages (`worded`) each part is one.
    """
    n, room = 0, (lasts - firsts).sum()
    stream, place = np.empty(room, np.int64), np.empty(room, np.int64)
    for s in range(len(firsts)):
        low, high, count = firsts[s], lasts[s], 0
        close, reach = at_half(end[low:high] - begin[low:high], octets[low:high]) / 4, end[low]
        parts, size = np.empty(high - low, np.int64), np.zeros(high - low, np.int64)
        for i in range(low, high):
            if count == 0 or begin[i] - reach > close:
                parts[count] = i
                count += 1
            size[count - 1] += octets[i]
            reach = max(reach, end[i])
        opens = np.arange(count) if worded[s] else messages(size[:count], slack)[0]
        for k in opens:
            stream[n], place[n] = s, parts[k]
            n += 1
    return stream[:n], place[:n]
