"""Connected parts of graphs whose nodes are numbers. Loops over pairs of them, compiled."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import Places


@compiled
def connected(pairs: Ints, starts: Ints, n: int) -> tuple[Places, Places]:
    """The nodes 0 … n − 1, part by part, as pairs of them (int64[m, 2]) connect them, and where each part begins.

    Parts come in the order of the first of their nodes among `starts`, which are all nodes or more, and nodes breadth first
    from that one, as networkx tells them.
    """
    begins = np.zeros(n + 1, np.intp)
    for one, other in pairs:
        begins[one + 1] += 1
        begins[other + 1] += 1
    begins = np.cumsum(begins)
    beside, place = np.empty(begins[-1], np.intp), begins.copy()
    for one, other in pairs:
        beside[place[one]], beside[place[other]] = other, one
        place[one] += 1
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
