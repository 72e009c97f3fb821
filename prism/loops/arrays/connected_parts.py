"""Find connected parts of graphs whose nodes are numbers. Compiled loops over pairs."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import Places


@compiled
def connected(pairs: Ints, starts: Ints, n: int) -> tuple[Places, Places]:
    """Order the nodes 0 … n − 1 by connected part, as joined by pairs (int64[m, 2]); also return where each part begins.

    Parts are ordered by their first node among `starts`, which lists all nodes or more; nodes breadth first from that node, as
    in networkx.
    """
    begins = np.zeros(n + 1, np.intp)
    for one, other in pairs:
        begins[one + 1] += 1
        begins[other + 1] += 1
    begins = np.cumsum(begins)
    beside, place = np.empty(begins[-1], np.intp), begins.copy()
    for one, other in pairs:
        beside[place[one]] = other
        place[one] += 1
        beside[place[other]] = one  # of a node that is joined with itself, the next place
        place[other] += 1
    out, cuts, seen = np.empty(n, np.intp), np.zeros(n + 1, np.intp), np.zeros(n, np.bool_)
    told = asked = parts = 0
    for start in starts:
        if not seen[start]:
            out[told], seen[start] = start, True
            told += 1
        while asked < told:
            for other in beside[begins[out[asked]] : begins[out[asked] + 1]]:
                if not seen[other]:
                    out[told], seen[other] = other, True
                    told += 1
            asked += 1
            if asked == told:
                parts += 1
                cuts[parts] = told
    return out, cuts[: parts + 1]
