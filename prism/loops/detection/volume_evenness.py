"""How much volumes that should be equal vary, between edges and from step to step. Loops over edges, compiled."""

from __future__ import annotations

import numpy as np

from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.medians import median

NEXT_TO_NOTHING = 1e-9  # of a share: what rounding does


@compiled
def varied(octets: Floats, begins: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """How uneven each edge is, in shares of what it moves in the middle step, and how uneven its group is.

    Of each edge how far its mean is from the middle of its group's, how much its mean lacks of the middle step, and how far its
    steps typically are from that; of each group how far its edges' sums by step typically are from the middle one. `octets` are
    what each edge moved by step and after the last, float64[edges, steps + 1]. What crosses a border is in the mean, and what
    came after the last step if edges are more alike with it: a job may have fallen silent in the middle of one. The edges of
    group k are at `begins` k to k + 1. Edges that are silent in most steps are left out, and groups of one; of steps the first,
    of which not all may have been seen.
    """
    steps, groups = octets.shape[1] - 1, len(begins) - 1
    between, within, whole = np.empty(len(octets)), np.empty(len(octets)), np.empty(groups)
    lacks, e, g = np.empty((2, len(octets))), 0, 0
    for k in range(groups if steps > 1 else 0):
        first = e
        sums = np.zeros(steps - 1)
        for i in range(begins[k], begins[k + 1]):
            middle = median(octets[i, 1:steps])
            if middle > 0:
                parts = octets[i] / middle
                lacks[1, e] = 1 - parts[:steps].sum() / steps
                lacks[0, e] = lacks[1, e] - parts[steps] / steps
                within[e] = 1.4826 * median(np.abs(parts[1:steps] - 1))
                sums += parts[1:steps]
                e += 1
        if e - first < 2:
            e = first
            continue
        own = lacks[:, first:e]
        if median(np.abs(own[1] - median(own[1]))) < median(np.abs(own[0] - median(own[0]))) - NEXT_TO_NOTHING:
            own[0] = own[1]
        between[first:e] = (1 - own[0]) / (1 - median(own[0])) - 1
        whole[g] = 1.4826 * median(np.abs(sums / median(sums) - 1))
        g += 1
    return between[:e].copy(), lacks[0, :e].copy(), within[:e].copy(), whole[:g].copy()
