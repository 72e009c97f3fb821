"""How much volumes that should be equal vary, between edges and from step to step. Loops over edges, compiled."""

from __future__ import annotations

import numpy as np

from collectors.compiled import compiled
from prism.kernels.intervals import Floats, Ints
from prism.kernels.ordered import median


@compiled
def varied(records: Floats, octets: Floats, begins: Ints) -> tuple[Floats, Floats]:
    """How far each edge is from the middle of its group, in all and typically over its steps, as shares.

    `records` and `octets` are what each edge moved by step, the last of which is going on, float64[edges, steps + 1]; the edges
    of group k are at `begins` k to k + 1. Edges that are silent in most steps are left out, and groups of one; so is the first
    step, of which not all may have been seen.
    """
    steps = octets.shape[1] - 1
    between, within, e, s = np.empty(len(octets)), np.empty(len(octets)), 0, 0
    for k in range(len(begins) - 1):
        own = octets[begins[k] : begins[k + 1]]
        seen = np.array([2 * np.count_nonzero(records[begins[k] + i]) >= steps for i in range(len(own))], np.bool_)
        if np.count_nonzero(seen) < 2:
            continue
        moved = own[seen]
        total = moved.sum(axis=1)
        usual = median(total)
        for i in range(len(moved)):
            between[e] = total[i] / usual - 1
            e += 1
            middle = median(moved[i, 1:steps]) if steps > 1 else 0.0
            if middle > 0:
                parts = moved[i, 1:steps] / middle
                within[s] = 1.4826 * median(np.abs(parts - median(parts)))
                s += 1
    return between[:e].copy(), within[:s].copy()
