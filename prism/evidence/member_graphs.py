"""Compute properties of small graphs of members: components, and imbalance of octets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from prism.loops.arrays import connected_parts

Pair = tuple[int, int]
Ints = NDArray[np.int64]


def connected(members: int, pairs: Sequence[Pair] | Ints) -> Ints:
    """Number the component of each member of a graph of `pairs` by its lowest member; int64[members]."""
    order, begins = connected_parts.connected(np.asarray(pairs, np.int64).reshape(-1, 2), np.arange(members), members)
    out = np.empty(members, np.int64)
    out[order] = order[begins[:-1]].repeat(begins[1:] - begins[:-1])
    return out


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


def weighted_medians(columns: NDArray[np.float64], weights: Sequence[float] | NDArray[np.float64]) -> list[float]:
    """Return the value of each column, float64[n, columns], at which half of the weight of its rows is reached."""
    order = columns.argsort(axis=0)
    reached = np.asarray(weights)[order].cumsum(axis=0)
    at = (reached < reached[-1] / 2).sum(axis=0)
    every = np.arange(columns.shape[1])
    return list(columns[order[at, every], every].tolist())
