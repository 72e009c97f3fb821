"""Test whether two ranks that hand over in parallel are in step or have independent pace.

Tensor-parallel ranks wait for each other in every layer: a delay of one delays the other equally. Replicas of a pipeline
synchronise at the gradient reduction; until then their delays are independent.
"""

from __future__ import annotations

import numpy as np

from prism.loops import constants as c
from prism.loops.arrays.intervals import Ints, nearest


def own_pace(one: Ints, other: Ints) -> float:
    """Difference of the pace of two ascending series of times, ns, relative to their own variation: 0 if they are in step.

    About 1 if each varies independently, NaN with too few times. Each time is compared with the nearest of the other series,
    and only within a step: for intervals up to twice the usual one.
    """
    if min(len(one), len(other)) < c.COMPARED_TIMES:
        return np.nan
    own, its = np.diff(one), np.diff(nearest(one, other))
    within = (np.maximum(own, its) <= 2 * np.median(own)) & (its > 0)
    if np.count_nonzero(within) < c.COMPARED_TIMES:
        return np.nan
    uneven = np.hypot(_spread(own[within]), _spread(its[within]))
    return _spread((own - its)[within]) / max(float(uneven), 1.0)


def _spread(values: Ints) -> float:
    """Median absolute deviation."""
    return float(np.median(np.abs(values - np.median(values))))
