"""Compute properties of small graphs of members: components, and imbalance of octets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from prism.evidence import constants as c

Pair = tuple[int, int]
Ints = NDArray[np.int64]


def connected(members: int, pairs: Sequence[Pair] | Ints) -> Ints:
    """Number the component of each member of a graph of `pairs` by its lowest member; int64[members].

    Union by index. Most graphs here have hundreds of edges, for which building a sparse matrix takes longer.
    """
    if len(pairs) > c.MANY_EDGES:
        ends = np.asarray(pairs, np.int64).T
        graph = coo_array((np.ones(ends.shape[1], np.int8), (ends[0], ends[1])), (members, members))
        part = connected_components(graph, directed=False)[1]
        return np.asarray(np.unique(part, return_index=True)[1][part], np.int64)
    up = list(range(members))
    for one, other in pairs.tolist() if isinstance(pairs, np.ndarray) else pairs:
        while up[one] != one:
            up[one] = up[up[one]]
            one = up[one]
        while up[other] != other:
            up[other] = up[up[other]]
            other = up[other]
        if one != other:
            up[max(one, other)] = min(one, other)
    for i, at in enumerate(up):  # an index never points to a higher one
        up[i] = up[at]
    return np.array(up, np.int64)


def imbalance(edges: Mapping[Pair, float], place: Sequence[int] | None = None) -> float:
    """Share of the octets that enter a member and do not leave it, or the reverse: they continue off the wire.

    With `place`, members are merged into places (for example hosts) before octets are balanced.
    """
    net: dict[int, float] = defaultdict(float)
    for (src, dst), octets in edges.items():
        a, b = (src, dst) if place is None else (place[src], place[dst])
        net[a] += octets
        net[b] -= octets
    return sum(map(abs, net.values())) / 2 / max(sum(edges.values()), 1.0)


def unjoined(parts: Ints, pairs: Ints, hosts: Ints) -> float:
    """Share of the members in parts that neither traffic (`pairs`, int64[n, 2]) nor hosts join; `parts` and `hosts` number each
    member's.
    """
    inside = pairs[parts[pairs[:, 0]] == parts[pairs[:, 1]]]
    order = np.lexsort((hosts, parts))
    near = (hosts[order][1:] == hosts[order][:-1]) & (parts[order][1:] == parts[order][:-1])
    joined = connected(len(parts), np.concatenate([inside, np.stack([order[:-1][near], order[1:][near]], axis=1)]))
    whole, part = np.bincount(parts, minlength=len(parts)), np.bincount(joined, minlength=len(parts))
    return float(np.mean(part[joined] < whole[parts]))


def weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the value at which half of the weight is reached."""
    if len(values) == 1:
        return float(values[0])
    known = np.asarray(values)
    order = known.argsort()
    reached = np.asarray(weights)[order].cumsum()
    return float(known[order[reached.searchsorted(reached[-1] / 2)]])
