"""Rings that look as if their pairs handed work over: what goes around one way is followed by what goes around the other.

A sharded model gathers its layers one way and scatters their gradients the other, so that between the two each pair is ahead,
as stages of a pipeline are. But all around the ring lanes move at the same time, which those between stages do not.
"""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import numpy as np

from prism.kernels.courses import QUANTILES, joins, side_by_side
from prism.kernels.edges import Edge, Pair, flipped
from prism.kernels.handover import Handover

NOWHERE = -1.0  # how near two lanes must come, in cadences, to be one for that alone


def without_circles(
    tides: Mapping[Pair, Handover], edges: Mapping[Pair, Edge], host: Mapping[int, str | None], *, threshold: float = 0.5
) -> dict[Pair, Handover]:
    """Pairs that hand over, without those that close a ring all around which lanes move at once.

    They do where each moves the share `threshold` of its octets, beyond chance, while the next one does. A ring goes on inside
    a `host` as well.
    """
    place = {end: host.get(end) or end for pair in tides for end in pair[:2]}
    graph: nx.Graph[int | str] = nx.Graph((place[a], place[b]) for a, b, *_ in tides if place[a] != place[b])
    out = dict(tides)
    for part in nx.connected_components(graph):
        own = {key: edges[key] for pair in tides if place[pair[0]] in part for key in (pair, flipped(pair))}
        if len(part) > 2 and all(graph.degree[node] == 2 for node in part) and _at_once(own, place, len(part), threshold):
            out = {pair: tide for pair, tide in out.items() if pair not in own}
    return out


def _at_once(lanes: Mapping[Pair, Edge], place: Mapping[int, int | str], around: int, threshold: float) -> bool:
    """Whether each of the lanes of a ring moves with as many others as it has links, `around`."""
    keys = list(lanes)
    meeting = [[i for i, (src, dst, *_) in enumerate(keys) if node in (place[src], place[dst])] for node in {*place.values()}]
    begins = np.cumsum([0, *map(len, meeting)])
    own = np.array([i for ones in meeting for i in ones], np.int64)
    found = joins(side_by_side(lanes.values()), np.arange(len(keys)), own, begins, QUANTILES, threshold, NOWHERE)
    graph: nx.Graph[int] = nx.Graph(found.tolist())
    return len(graph) == len(keys) and all(len(part) >= around for part in nx.connected_components(graph))
