"""Sum values of edges by step in one pass over all records in memory order. Compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import ranges
from prism.loops.arrays.intervals import Floats, Ints

Numbers = NDArray[np.int32]


def numbers_of(rows: NDArray[np.intp], low: Ints, high: Ints, n: int) -> Numbers:
    """Compute the edge number of each of n records, -1 if none; the records of edge k are `rows[low[k]:high[k]]`."""
    out = np.full(n, -1, np.int32)
    out[rows[ranges(low, high)]] = np.repeat(np.arange(len(low), dtype=np.int32), high - low)
    return out


@compiled
def tally(number: Numbers, part: NDArray[Any], values: NDArray[Any], total: Floats) -> None:
    """Add the value of each record to `total` at its number, unless -1, and its part."""
    for i in range(len(number)):
        if number[i] >= 0:
            total[number[i], part[i]] += values[i]
