"""Order records by small codes, and within a code by time: counting, and sorting only where they are not in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops.arrays.medians import rising

Places = NDArray[np.intp]


@compiled
def by_group(group: NDArray[Any], n: int, times: Ints) -> tuple[Places, Places]:
    """Order records by group (0 … n − 1) and within it by time, stable; also return where each group begins, [n + 1].

    Records are mostly in order of time, or nearly.
    """
    begins, mixed = np.zeros(n + 1, np.intp), np.zeros(n, np.bool_)
    for k in group:
        begins[k + 1] += 1
    for k in range(n):
        begins[k + 1] += begins[k]
    at, last = begins[:-1].copy(), np.full(n, np.iinfo(np.int64).min)
    out = np.empty(len(group), np.intp)
    for i in range(len(group)):
        k = group[i]
        out[at[k]] = i
        at[k] += 1
        mixed[k] |= times[i] < last[k]
        last[k] = times[i]
    for k in range(n):
        if mixed[k]:
            own = out[begins[k] : begins[k + 1]]
            own[:] = own[rising(times[own])]
    return out, begins
