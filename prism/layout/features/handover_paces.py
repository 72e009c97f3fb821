"""Compare how close in time ranks hand over: tensor twins of a host, replicas of one host, replicas of several hosts.

Tensor twins wait for each other in every layer and hand over together. Replicas drift until their gradients are reduced, in one
host as between hosts. How far apart they are differs from job to job, so that only the contrast inside a job tells them apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism.evidence.host_lockstep import Lockstep
from prism.layout import constants as c

Floats = NDArray[np.float64]


def twins_closer(inside: Lockstep, beyond: Lockstep, at: NDArray[np.int64]) -> dict[str, float]:
    """Compute how much closer in time twins of a host hand over than replicas do, in deviations: "twins_closer".

    "twins_compared" is 1: twins that are no closer are none. Both are left out without twins or replicas.

    Parameters
    ----------
    inside, beyond : Lockstep
        Hand-overs of the members of one host, and of replicas in several hosts.
    at : int[members, 4]
        Coordinates of a placing: host, tensor, data, pipeline. Twins have the last two in common.
    """
    stage, replica = (at[inside.first, axis] != at[inside.second, axis] for axis in (3, 2))
    apart = _apart(inside)
    twins, replicas = apart[~stage & ~replica], apart[~stage & replica]
    others = np.concatenate([replicas, _apart(beyond)])
    return {"twins_closer": _contrast(twins, others), "twins_compared": 1.0} if len(twins) and len(others) else {}


def _apart(seen: Lockstep) -> Floats:
    """Distance in time of each pair: the sum of the logarithms of its offset and its jitter, decades."""
    return np.asarray(np.log10(np.maximum(seen.offset, c.FINEST)) + np.log10(np.maximum(seen.jitter, c.FINEST)))


def _contrast(near: Floats, far: Floats) -> float:
    """Difference of the means over the deviation inside the two."""
    within = float(np.concatenate([near - near.mean(), far - far.mean()]).std())
    return float(np.clip((far.mean() - near.mean()) / (within + c.LEAST_DEVIATION), -c.MOST_CONTRAST, c.MOST_CONTRAST))
