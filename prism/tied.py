"""Tied embeddings: the first and the last stage of a pipeline hold the same weights and reduce their gradients between them.

They do so right after the other gradients, so that the groups of both stages look like one.

Source: the embedding groups of Megatron-LM (Narayanan et al., SC 2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np

from prism.kernels.edges import Edge, Pair, ends
from prism.kernels.lockstep import Collective, joined
from prism.model import GroupKind


def without_tied(
    found: list[Collective], hands: Mapping[Pair, Edge], edges: Mapping[Pair, Edge]
) -> tuple[list[Collective], list[Collective]]:
    """The collectives without what two stages reduce between them, and that.

    Without the lanes between those who hand over it is two groups of one size, each of which is whole, and every member has one
    partner in the other group.
    """
    pairs = {frozenset(ends(pair)) for pair in hands}
    kept, tied = list[Collective](), list[Collective]()
    for one in found:
        cross = frozenset(key for key in one.edges if ends(key) in pairs)
        parts = _parts_of(one, one.edges - cross, edges) if cross else []
        if len(parts) == 2 and _are_stages(one.members, parts[0], parts[1], {frozenset(ends(key)) for key in cross}):
            kept += parts
            tied += _parts_of(one, cross, edges)
        else:
            kept.append(one)
    return kept, tied


def _are_stages(members: frozenset[int], a: Collective, b: Collective, pairs: set[frozenset[int]]) -> bool:
    """Whether two groups are all of some members, alike in size, whole, and joined member by member."""
    whole = all({key[0] for key in one.edges} == {key[1] for key in one.edges} == one.members for one in (a, b))
    matched = len(pairs) == len(a.members) and frozenset().union(*pairs) == members
    return whole and matched and len(a.members) == len(b.members) and all(len(pair & a.members) == 1 for pair in pairs)


def within_stages(
    kinds: list[tuple[GroupKind, Collective]], chains: Sequence[Sequence[int]], edges: Mapping[Pair, Edge]
) -> tuple[list[tuple[GroupKind, Collective]], list[Collective]]:
    """The collectives with those that reduce gradients parted where they join the first stage of a pipeline with its last, for
    no group has members in several; and what was reduced between these.
    """
    kept, tied = list[tuple[GroupKind, Collective]](), list[Collective]()
    far = [{chain[0], chain[-1]} for chain in chains if len(chain) > 2]
    for kind, one in kinds:
        cross = frozenset(key for key in one.edges if kind == "dp" and ends(key) in far)
        if cross:
            kept += [(kind, part) for part in _parts_of(one, one.edges - cross, edges)]
            tied += _parts_of(one, cross, edges)
        else:
            kept.append((kind, one))
    return kept, tied


def _parts_of(one: Collective, keys: frozenset[Pair], edges: Mapping[Pair, Edge]) -> list[Collective]:
    """Some lanes of a collective as collectives of those that they join."""
    graph = nx.Graph((key[0], key[1]) for key in keys)
    out = []
    for part in nx.connected_components(graph):
        own = sorted(key for key in keys if key[0] in part)
        rows = np.intersect1d(one.rows, np.concatenate([edges[key].rows for key in own]))
        out.append(Collective(frozenset(own), rows, joined([edges[key].activity() for key in own])))
    return out
