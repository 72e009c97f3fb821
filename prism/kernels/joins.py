"""Where collectives end, and when what follows comes if what it follows comes sooner.

Loops over records, compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Ints

Floats = NDArray[np.float64]


@compiled
def evened(edge: NDArray[Any], octets: Ints, bounds: Ints, n: int, tolerance: float) -> Ints:
    """Those of the `bounds` (places in the records, from 0 to their number) between which all `n` edges move equal shares.

    All octets of an edge are 1. The first and the last bound are always among them.
    """
    total, moved, held = np.zeros(n), np.zeros(n), np.zeros(n)
    for i in range(len(edge)):
        total[edge[i]] += octets[i]
    out = np.zeros(len(bounds), np.int64)
    count = 1
    for k in range(1, len(bounds)):
        held[:] = 0
        for i in range(bounds[k - 1], bounds[k]):
            held[edge[i]] += octets[i]
        moved += held / np.maximum(total, 1)
        if k == len(bounds) - 1 or (moved.min() > 0 and moved.max() - moved.min() <= tolerance * moved.mean()):
            out[count] = bounds[k]
            count += 1
            moved[:] = 0
    return out[:count]


@compiled
def followed(seen: Floats, gap: Floats, before: Ints, begins: Ints, outer: Ints, lag: Floats) -> Floats:
    """When each point is that comes `gap` after the last of those before it, where it is `seen` if there is none.

    Those before point i are `before[begins[i] : begins[i + 1]]`, all of them earlier in the arrays. It comes no sooner than
    `lag` after the `outer` one, if that is not −1.
    """
    out = np.empty(len(seen))
    for i in range(len(seen)):
        out[i] = seen[i]
        if begins[i] < begins[i + 1]:
            last = -np.inf
            for k in range(begins[i], begins[i + 1]):
                last = max(last, out[before[k]])
            out[i] = last + gap[i]
        if outer[i] >= 0:
            out[i] = max(out[i], out[outer[i]] + lag[i])
    return out
