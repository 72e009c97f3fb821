"""Split the records of connections into messages: parts that a one-sided sender sends while the receiver's window allows."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import at_share


@compiled
def transfers(begin: Ints, end: Ints, octets: Ints, firsts: Ints, lasts: Ints, worded: Mask, slack: float) -> tuple[Ints, Ints]:
    """Split non-empty streams into transfers: stream of each, place of its first record.

    The records of a stream, sorted by begin, are at `firsts` to `lasts`. Parts are separated by more than a quarter of a
    typical record, and joined while the sum is not larger than the largest part, apart from the share `slack`: a one-sided
    sender stops when the receiver's window is full. A stream whose receiver sends control messages is `worded`: each part is a
    transfer.
    """
    n, room = 0, (lasts - firsts).sum()
    stream, place = np.empty(room, np.int64), np.empty(room, np.int64)
    for s in range(len(firsts)):
        low, high, count = firsts[s], lasts[s], 0
        close, reach = at_share(end[low:high] - begin[low:high], octets[low:high], 0.5) / 4, end[low]
        parts, size = np.empty(high - low, np.int64), np.zeros(high - low, np.int64)
        for i in range(low, high):
            if count == 0 or begin[i] - reach > close:
                parts[count] = i
                count += 1
            size[count - 1] += octets[i]
            reach = max(reach, end[i])
        most, held = size.max() * (1 + slack), 0
        for k in range(count):
            if worded[s] or k == 0 or held + size[k] > most:
                stream[n], place[n], held = s, parts[k], 0
                n += 1
            held += size[k]
    return stream[:n], place[:n]
