"""Whether two who hand work on side by side do so in step, or each at a pace of its own.

Tensor-parallel ranks wait for one another in every layer: what makes one of them late makes the other as late. Replicas of a
pipeline meet when gradients are reduced; until then each is late for reasons of its own.
"""

from __future__ import annotations

import numpy as np

from prism.loops.arrays.intervals import Ints, nearest

FEW = 8  # times of each; of fewer nothing is told


def own_pace(one: Ints, other: Ints) -> float:
    """How much two series of times, ns and ascending, differ in pace against how uneven each is: 0 for those in step.

    About 1 where each varies by itself, NaN where too little is known. Each time is compared with the nearest of the other's,
    and only within a step: intervals up to twice the usual.
    """
    if min(len(one), len(other)) < FEW:
        return np.nan
    own, its = np.diff(one), np.diff(nearest(one, other))
    within = (np.maximum(own, its) <= 2 * np.median(own)) & (its > 0)
    if np.count_nonzero(within) < FEW:
        return np.nan
    uneven = np.hypot(_spread(own[within]), _spread(its[within]))
    return _spread((own - its)[within]) / max(float(uneven), 1.0)


def _spread(values: Ints) -> float:
    """The median distance of values from their median."""
    return float(np.median(np.abs(values - np.median(values))))
