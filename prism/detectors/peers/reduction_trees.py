"""Trees of reductions: who has heard from all below and still does not speak.

Leaves send first, as members of rings do. Whoever is inside a tree sends upward once it has something from all below and its
own; what it does not send then, it has not computed. The root sends down instead.
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
    """A group whose members are joined by a tree: its leaves, those inside, and with whom each exchanges payload, by code."""

    leaves: list[str]
    inside: list[str]
    partners: Mapping[int, set[int]]


def tree_of(view: View, members: Sequence[str]) -> Tree | None:
    """The tree that joins some members; None where they are joined in another way."""
    codes = {view.code[m] for m in members}
    partners = {a: view.partners[a] & codes for a in codes}
    if not sum(map(len, partners.values())) // 2 == len(codes) - 1 > 1:
        return None
    leaves = [m for m in members if len(partners[view.code[m]]) == 1]
    return Tree(leaves, [m for m in members if m not in leaves], partners)


def spoke_after(view: View, tree: Tree, begins: Ints) -> tuple[Floats, Floats]:
    """When each member inside a tree first sent what it had to, and when the first of all that it needed for that had come, ns;
    float64[inside, steps] each. NaN where that is not known.

    Of two partners the one that sends to the other first is below. `begins` are those of the steps, ns.
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
    """Start and end of the first record of an edge in each step, ns; NaN where there is none."""
    return first_of(edge.start, edge.end, begins)
