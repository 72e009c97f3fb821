"""Compare how close in time ranks hand over: tensor twins of a host, replicas of one host, replicas of several hosts.

Tensor twins wait for each other in every layer and hand over together. Replicas drift until their gradients are reduced, in one
host as between hosts. How far apart they are differs from job to job, so that only the contrast inside a job tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prism.evidence.host_lockstep import Lockstep
from prism.layout import constants as c
from prism.loops.constants import MAD_TO_SIGMA

Floats = NDArray[np.float64]


def paces(inside: Lockstep, beyond: Lockstep, at: NDArray[np.int64], hosts: NDArray[np.int64]) -> Iterator[tuple[str, float]]:
    """Yield how much closer twins hand over than replicas do, and replicas of one host than those of several.

    Parameters
    ----------
    inside, beyond : Lockstep
        Hand-overs of the members of one host, and of members that reduce gradients together.
    at : int[members, 4]
        Coordinates of a placing: host, tensor, data, pipeline.
    hosts : int[members]
        Number of each member's host.
    """
    stage, replica = (at[inside.first, axis] != at[inside.second, axis] for axis in (3, 2))
    apart = _apart(inside)
    twins, replicas = apart[~stage & ~replica], apart[~stage & replica]
    others = _apart(beyond)[hosts[beyond.first] != hosts[beyond.second]]
    if len(twins):
        yield "twins_closer", _contrast(twins, np.concatenate([replicas, others]))


def _apart(seen: Lockstep) -> Floats:
    """Distance in time of each pair: the sum of the logarithms of its offset and its jitter, decades."""
    return np.asarray(np.log10(np.maximum(seen.offset, c.FINEST)) + np.log10(np.maximum(seen.jitter, c.FINEST)))


def _contrast(near: Floats, far: Floats) -> float:
    """Difference of the medians over the deviation inside the two; 0 if one is empty."""
    if not len(near) or not len(far):
        return 0.0
    middle = np.median(near), np.median(far)
    within = MAD_TO_SIGMA * np.median(np.abs(np.concatenate([near - middle[0], far - middle[1]])))
    return float(np.clip((middle[1] - middle[0]) / (within + c.LEAST_DEVIATION), -c.MOST_CONTRAST, c.MOST_CONTRAST))
