"""Find tied embeddings: the first and the last stage of a pipeline hold the same weights and reduce their gradients together.

They do so right after the other gradients, so the groups of both stages look like one.

Source: the embedding groups of Megatron-LM (Narayanan et al., SC 2021).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import networkx as nx
import numpy as np

from prism.loops.arrays.edges import Edge, Pair, ends
from prism.loops.communicators.pair_lockstep import Collective, joined


def without_tied(
    found: Iterable[Collective], joined_by: Iterable[Pair], edges: Mapping[Pair, Edge], *, alone: bool = False
) -> tuple[list[Collective], list[Collective]]:
    """Split collectives into those without, and those of, the reduction between two stages.

    `joined_by` are pairs with one member in each stage: neighbours in a pipeline of two, the ends of a longer one. Without the
    lanes between them, a collective must be two complete groups of one size, each member with one partner in the other group.
    With `alone`, collectives that only join such pairs are tied, too.
    """
    pairs = {frozenset(ends(pair)) for pair in joined_by}
    if not pairs:
        return list(found), []
    kept, tied = list[Collective](), list[Collective]()
    for one in found:
        cross = frozenset(key for key in one.edges if ends(key) in pairs)
        parts = _parts_of(one, one.edges - cross, edges) if cross else []
        if len(parts) == 2 and _are_stages(one.members, parts[0], parts[1], {frozenset(ends(key)) for key in cross}):
            kept += parts
            tied += _parts_of(one, cross, edges)
        elif alone and cross == one.edges:
            tied.append(one)
        else:
            kept.append(one)
    return kept, tied


def _are_stages(members: frozenset[int], a: Collective, b: Collective, pairs: set[frozenset[int]]) -> bool:
    """Check whether two groups contain all members, have one size, are complete, and are matched member by member."""
    whole = all({key[0] for key in one.edges} == {key[1] for key in one.edges} == one.members for one in (a, b))
    matched = len(pairs) == len(a.members) and frozenset().union(*pairs) == members
    return whole and matched and len(a.members) == len(b.members) and all(len(pair & a.members) == 1 for pair in pairs)


def _parts_of(one: Collective, keys: frozenset[Pair], edges: Mapping[Pair, Edge]) -> list[Collective]:
    """Return some lanes of a collective as collectives of the members that they join."""
    graph = nx.Graph((key[0], key[1]) for key in keys)
    out = []
    for part in nx.connected_components(graph):
        own = sorted(key for key in keys if key[0] in part)
        rows = np.intersect1d(one.rows, np.concatenate([edges[key].rows for key in own]))
        out.append(Collective(frozenset(own), rows, joined([edges[key].activity() for key in own])))
    return out
