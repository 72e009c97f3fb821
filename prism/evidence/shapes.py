"""Recognise the shape of a communicator's graph: ring, clique, levels of halving, tree, chain.

Edges inside a host are not on the wire.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from prism.evidence import constants as c
from prism.evidence.member_graphs import Pair
from prism.evidence.streams import Stream

Way = Literal["one", "two"]
Shape = Literal["pair", "path", "cycle", "clique", "cube", "tree", "other"]


def undirected(edges: Iterable[Pair]) -> set[Pair]:
    """Return the pairs of members that exchange in either direction, the lower member first."""
    return {pair if pair[0] < pair[1] else pair[::-1] for pair in edges}


def across(members: Iterable[int], hosts: Sequence[int]) -> int:
    """Count pairs of members in different hosts; pairs inside a host are not on the wire."""
    by_host = Counter(hosts[member] for member in members)
    n = by_host.total()
    return (n * (n - 1) - sum(k * (k - 1) for k in by_host.values())) // 2


def shape_of(pairs: Collection[Pair], members: Iterable[int], way: Way, hosts: Sequence[int]) -> Shape:
    """Return the shape of a graph.

    `pairs`: those that exchange in either direction (`undirected`). `way`: "two" if both directions of most pairs are used.
    `hosts`: number of each member's host.
    """
    partners = Counter(end for pair in pairs for end in pair)
    n, m, most = len(partners), len(pairs), max(partners.values())
    full = across(members, hosts)
    if n == 2:
        return "pair"
    if m < n and most <= 2:
        return "path"
    if way == "two" and m >= c.NEARLY_ALL * full:
        return "clique"
    if most <= 2:
        return "cycle"
    if way == "two" and n > c.SQUARE and _is_cube(partners, hosts) and m < c.NEARLY_ALL * full:
        return "cube"
    return "tree" if m == n - 1 else "other"


def _is_cube(partners: Mapping[int, int], hosts: Sequence[int]) -> bool:
    """Check whether each member may have one partner in each level of halving.

    Either the same levels of all members are hidden inside hosts, or each missing partner may be in the member's host.
    """
    levels = np.log2(len(partners))
    if levels != round(levels):
        return False
    hidden = levels - min(partners.values())
    mates = Counter(hosts[member] for member in partners)
    alike = len(set(partners.values())) == 1 and 0 <= hidden <= c.HIDDEN_LEVELS
    return alike or all(own <= levels < own + mates[hosts[member]] for member, own in partners.items())


def closes_rings(streams: Sequence[Stream]) -> bool:
    """Check whether each member sends one stream, to one member, and receives one, from another."""
    receivers = {s.src: s.dst for s in streams}
    closed = len(receivers) == len(streams) and receivers.keys() == set(receivers.values())
    return closed and all(receivers[dst] != src for src, dst in receivers.items())
