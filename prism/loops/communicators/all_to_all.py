"""Complete all-to-all exchanges of which some lanes were classified otherwise: a pair with one late side looks like a
hand-over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from prism.loops import constants as c
from prism.loops.arrays.edges import Edge, Pair
from prism.loops.communicators.pair_lockstep import Collective, merged


def completed(
    found: Sequence[Collective], edges: Mapping[Pair, Edge], *, most: float = c.MOST_LANES, alike: float = 2.0
) -> list[Collective]:
    """Complete collectives: if more than `most` of the members send to each other, add the few other lanes between them.

    Octets of those lanes differ by the factor `alike` at most: demand for experts varies.
    """
    out = list(found)
    for big in sorted(found, key=lambda one: -len(one.edges)):
        n = len(big.members)
        if n <= c.TRIANGLE or len(big.edges) <= most * n * (n - 1):
            continue
        lanes = {key[:2] for key in big.edges}
        if not most * n * (n - 1) < len(lanes) < n * (n - 1):
            continue
        missing = {(a, b) for a in big.members for b in big.members if a != b} - lanes
        usual = float(np.median([edges[key].volume for key in big.edges]))
        few = [one for one in out if {key[:2] for key in one.edges} <= missing and _like(usual, one, edges, alike)]
        if few and set().union(*({key[:2] for key in one.edges} for one in few)) == missing:
            out = [one for one in out if one is not big and one not in few] + [merged([big, *few])]
    return out


def _like(usual: float, one: Collective, edges: Mapping[Pair, Edge], times: float) -> bool:
    return all(usual / times <= edges[key].volume <= usual * times for key in one.edges)
