"""Count records lost between exporter and collector from gaps in sequence numbers."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled

UNITS = 1 << 32  # sequence numbers have 32 bits
RESTART = 1 << 20  # a larger jump in either direction is a restart, not a loss
LOST, LATE, RESTARTED = range(3)


@compiled
def follow(source: Ints, sequence: Ints, count: Ints, expected: Ints, found: Ints) -> None:
    """Follow the sequence numbers of datagrams in order of arrival.

    `source`: sender of each; -1: without a number. `count`: increment by each datagram; -1: unknown. `expected` [sources]: next
    number, -1 if unknown; updated. `found` [3, sources]: lost units, late datagrams, restarts; added to.
    """
    for i in range(len(source)):
        s = source[i]
        if s < 0:
            continue
        if expected[s] >= 0:
            gap = (sequence[i] - expected[s]) % UNITS
            if gap >= UNITS // 2:
                gap -= UNITS
            if 0 < gap < RESTART:
                found[LOST, s] += gap
            elif -RESTART < gap < 0:
                found[LATE, s] += 1
                continue
            elif gap != 0:
                found[RESTARTED, s] += 1
        expected[s] = (sequence[i] + count[i]) % UNITS if count[i] >= 0 else np.int64(-1)
