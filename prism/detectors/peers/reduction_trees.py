"""Find ranks in reduction trees that have received data from all children and still do not send.

Leaves send first, like members of rings. An inner rank sends to its parent after it has data from all children and its own;
data that it does not send then is not computed yet. The root sends to its children instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from prism.graph.job_view import Floats, View
from prism.loops.arrays.edges import Edge
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import median
from prism.loops.detection.call_lateness import first_of


class Tree(NamedTuple):
    """A group connected by a tree: leaves, inner members, and the partners with which each exchanges payload, by code."""

    leaves: list[str]
    inside: list[str]
    partners: Mapping[int, set[int]]


def tree_of(view: View, members: Sequence[str]) -> Tree | None:
    """Find the tree that connects some members; None if they are connected otherwise."""
    codes = {view.code[m] for m in members}
    partners = {a: view.partners[a] & codes for a in codes}
    if not sum(map(len, partners.values())) // 2 == len(codes) - 1 > 1:
        return None
    leaves = [m for m in members if len(partners[view.code[m]]) == 1]
    return Tree(leaves, [m for m in members if m not in leaves], partners)


def sent_after(view: View, tree: Tree, begins: Ints) -> tuple[Floats, Floats]:
    """Compute when each inner member of a tree first sent, and when the first of all data that it needed had arrived, ns;
    float64[inside, steps] each, NaN if unknown.

    Of two partners the first to send is the child. `begins` are the begins of the steps, ns.
    """
    spoke, needs = np.full((2, len(tree.inside), len(begins)), np.nan)
    for i, member in enumerate(tree.inside):
        code = view.code[member]
        given = {p: _first(view.edges[p, code], begins) for p in tree.partners[code]}
        sends = {p: _first(view.edges[code, p], begins)[0] for p in tree.partners[code]}
        below = [p for p, (start, _) in given.items() if median(np.nan_to_num(sends[p] - start)) > 0]
        above = [sends[p] for p in sends if p not in below] or list(sends.values())
        if below and (len(above) == 1 or len(below) == len(sends)):
            spoke[i], needs[i] = np.min(above, axis=0), np.max([given[p][1] for p in below], axis=0)
    return spoke, needs


def _first(edge: Edge, begins: Ints) -> tuple[Floats, Floats]:
    """Start and end of the first record of an edge in each step, ns; NaN if there is none."""
    return first_of(edge.start, edge.end, begins)
