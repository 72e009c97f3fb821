"""Compute how much equal volumes vary between edges and between steps. Compiled."""

from __future__ import annotations

import numpy as np

from collectors.compilation.compiled import compiled
from prism.loops import constants as c
from prism.loops.arrays.intervals import Floats, Ints


@compiled
def varied(octets: Floats, begins: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute the variation of each edge, as shares of its median step, and of its group.

    For each edge: distance of its mean from the median of its group's means; lack of its mean relative to the median step;
    robust spread of its steps. For each group: robust spread of its edges' sums by step. `octets` are those of each edge by
    step, and after the last, float64[edges, steps + 1]. The mean includes data that crosses step borders, and data after the
    last step if edges are then more equal: a job may have fallen silent within a step. The edges of group k are at `begins[k]`
    to `begins[k + 1]`. Left out: edges that are silent in most steps, groups of one edge, and the first step, which may be
    incomplete.
    """
    steps, groups = octets.shape[1] - 1, len(begins) - 1
    between, within, whole = np.empty(len(octets)), np.empty(len(octets)), np.empty(groups)
    lacks, e, g = np.empty((2, len(octets))), 0, 0
    for k in range(groups if steps > 1 else 0):
        first = e
        sums = np.zeros(steps - 1)
        for i in range(begins[k], begins[k + 1]):
            middle = np.median(octets[i, 1:steps])
            if middle > 0:
                parts = octets[i] / middle
                lacks[1, e] = 1 - parts[:steps].sum() / steps
                lacks[0, e] = lacks[1, e] - parts[steps] / steps
                within[e] = c.MAD_TO_SIGMA * np.median(np.abs(parts[1:steps] - 1))
                sums += parts[1:steps]
                e += 1
        if e - first < 2:
            e = first
            continue
        own = lacks[:, first:e]
        if np.median(np.abs(own[1] - np.median(own[1]))) < np.median(np.abs(own[0] - np.median(own[0]))) - 1e-9:
            own[0] = own[1]
        between[first:e] = (1 - own[0]) / (1 - np.median(own[0])) - 1
        whole[g] = c.MAD_TO_SIGMA * np.median(np.abs(sums / np.median(sums) - 1))
        g += 1
    return between[:e].copy(), lacks[0, :e].copy(), within[:e].copy(), whole[:g].copy()
