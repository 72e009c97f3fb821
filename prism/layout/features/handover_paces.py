"""Compare how ranks hand over: tensor twins of a host, replicas of one host, replicas of several hosts.

Tensor twins wait for each other in every layer and hand over together. Replicas drift until their gradients are reduced, in one
host as between hosts. How far apart they are differs from job to job, so that only the contrast inside a job tells them apart.
Where sequences have any length, hand-overs vary in size: twins work on the same data and hand over the same sizes, replicas
have other data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from prism.evidence.families import Family
from prism.evidence.host_lockstep import Lockstep
from prism.evidence.step_period import Steps
from prism.evidence.turn_taking import lead
from prism.layout import constants as c

Floats = NDArray[np.float64]


def twins_closer(inside: Lockstep, beyond: Lockstep, at: NDArray[np.int64]) -> dict[str, float]:
    """Compute how much closer in time twins of a host hand over than replicas do, in deviations: "twins_closer".

    Left out without twins or replicas.

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
    return {"twins_closer": _contrast(twins, others)} if len(twins) and len(others) else {}


def other_data(sizes: Mapping[int, Floats], hosts: Sequence[int], at: NDArray[np.int64]) -> dict[str, float]:
    """Compute the share of twins of a host that hand over other sizes, plus that of replicas with the same sizes: "other_data".

    `sizes` of the messages of each member that hands over, in order of time; pairs with unequal numbers are left out. `at`: as
    in `twins_closer`.
    """
    of: dict[int, list[int]] = defaultdict(list)
    for member in sorted(sizes):
        of[hosts[member]].append(member)
    wrong: dict[bool, list[bool]] = {True: [], False: []}  # of twins, of replicas
    for a, b in (pair for own in [*of.values()][: c.HOSTS_TRIED] for pair in combinations(own, 2)):
        if at[a, 3] == at[b, 3] and len(sizes[a]) == len(sizes[b]):
            same = float(np.median(np.abs(np.log(sizes[a] / sizes[b])))) < c.ONE_CLASS_SIZE
            twins = bool(at[a, 2] == at[b, 2])
            wrong[twins].append(same != twins)
    return {"other_data": sum(float(np.mean(own)) for own in wrong.values() if own)} if sizes else {}


def forward(family: Family, steps: Steps) -> NDArray[np.int64]:
    """Pairs of members that clearly hand over, int64[2, pairs]: activations go from the first to the second, and lead."""
    out = []
    for one in family:
        for src, dst in (pair for pair in one.pairs if pair in one.edges and pair[::-1] in one.edges):
            ahead = lead(one.by_pair[src, dst], one.by_pair[dst, src], steps)
            out += [(src, dst) if ahead > 0 else (dst, src)] * (abs(ahead) > c.AHEAD_LEAST)
    return np.array(out, np.int64).reshape(-1, 2).T


def stages(pairs: NDArray[np.int64], members: int) -> NDArray[np.int64]:
    """Return how many members precede each one in the pipelines where `pairs` hand over (`forward`); int64[members]."""
    out, (src, dst) = np.zeros(members, np.int64), pairs
    for _ in range(members):
        after = out.copy()
        np.maximum.at(after, dst, out[src] + 1)
        if np.array_equal(after, out) or after.max() >= members:  # a ring has no first stage
            break
        out = after
    return out


def _apart(seen: Lockstep) -> Floats:
    """Distance in time of each pair: the sum of the logarithms of its offset and its jitter, decades."""
    return np.asarray(np.log10(np.maximum(seen.offset, c.FINEST)) + np.log10(np.maximum(seen.jitter, c.FINEST)))


def _contrast(near: Floats, far: Floats) -> float:
    """Difference of the means over the deviation inside the two."""
    within = float(np.concatenate([near - near.mean(), far - far.mean()]).std())
    return float(np.clip((far.mean() - near.mean()) / (within + c.LEAST_DEVIATION), -c.MOST_CONTRAST, c.MOST_CONTRAST))
