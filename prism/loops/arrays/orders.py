"""Order integers, such as times of records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops import constants as c


def ascending(values: Ints) -> bool:
    """Check whether values are ascending."""
    return not bool((values[1:] < values[:-1]).any())


def in_order(values: Ints) -> NDArray[np.intp]:
    """Return the stable order of integers."""
    return np.arange(len(values)) if ascending(values) else _placed(np.ascontiguousarray(values, np.int64))


@compiled
def _placed(values: Ints) -> NDArray[np.intp]:
    """Compute `in_order` of at least one value: distribute into twice as many bins of equal width, and large bins again.

    Times spread so evenly that this takes a third of the time of NumPy's sort.
    """
    n, low = len(values), values.min()
    span, shift = np.uint64(values.max() - low), np.uint64(0)
    while span >> shift >= np.uint64(2 * n):
        shift += np.uint64(1)
    begins = np.zeros(np.int64(span >> shift) + 1, np.int32)
    for value in values:
        begins[np.uint64(value - low) >> shift] += 1
    total = 0
    for k in range(len(begins)):
        count = begins[k]
        begins[k] = total
        total += count
    order = np.empty(n, np.intp)
    for i in range(n):
        own_bin = np.uint64(values[i] - low) >> shift
        order[np.uint64(begins[own_bin])] = i
        begins[own_bin] += 1
    begin = 0
    for end in begins if shift else begins[:0]:  # each bin ends where the next one began
        if end - begin > c.SMALL_BIN:
            own = order[begin:end]
            own[:] = own[_placed(values[own])]
        for i in range(begin + 1, end if end - begin <= c.SMALL_BIN else begin):  # insertion sort
            place, j = order[i], i
            while j > begin and values[order[j - 1]] > values[place]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = place
        begin = end
    return order
