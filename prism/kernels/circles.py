"""Rings that look as if their pairs handed work over: what goes around one way is followed by what goes around the other.

A sharded model gathers its layers one way and scatters their gradients the other, so that between the two each pair is ahead,
as stages of a pipeline are. But all around the ring lanes move at the same time, which those between stages do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import networkx as nx
import numpy as np

from prism.kernels.courses import QUANTILES, beyond, coincides, course, side_by_side
from prism.kernels.edges import Edge, Pair, flipped
from prism.kernels.handover import Handover
from prism.kernels.lockstep import Collective, of_lanes

LEAST = 0.25  # of what two lanes move, beyond chance, at one time; stages in step reach it now and then, not all around


def circles(
    tides: Mapping[Pair, Handover], edges: Mapping[Pair, Edge], host: Mapping[int, str | None], *, threshold: float = 0.4
) -> tuple[dict[Pair, Handover], list[Collective]]:
    """Pairs that hand over, without those that close a ring all around which lanes move at once; and those rings.

    They do where all move the same, each way: from the last stage of a pipeline to the first less is handed over, if at all.
    So they do where most move the share `threshold` of their octets, beyond chance, while the next one does, and none much
    less. A ring goes on inside a `host` as well.
    """
    place = {end: host.get(end) or end for pair in tides for end in pair[:2]}
    graph: nx.Graph[int | str] = nx.Graph((place[a], place[b]) for a, b, *_ in tides if place[a] != place[b])
    out, found = dict(tides), list[Collective]()
    for part in nx.connected_components(graph):
        if len(part) < 3 or any(graph.degree[node] != 2 for node in part):
            continue
        own = {key: edges[key] for pair in tides if place[pair[0]] in part for key in (pair, flipped(pair))}
        rings = _alike_both_ways(own, place) or _moving_at_once(own, place, len(part), threshold)
        if sum(map(len, rings)) == len(own):
            out = {pair: tide for pair, tide in out.items() if pair not in own}
            found += [of_lanes([own[key] for key in ring]) for ring in rings]
    return out, found


def _alike_both_ways(lanes: Mapping[Pair, Edge], place: Mapping[int, int | str], *, equal: float = 0.01) -> list[list[Pair]]:
    """The lanes of a circle, those that go around one way and those that go the other; none unless all move the same."""
    volumes = [edge.volume for edge in lanes.values()]
    if max(volumes) > (1 + equal) * min(volumes):
        return []
    around: nx.Graph[int | str] = nx.Graph((place[a], place[b]) for a, b, *_ in lanes)
    order = [node for node, _ in nx.find_cycle(around)]
    following = dict(zip(order, order[1:] + order[:1], strict=True))
    ways: tuple[list[Pair], list[Pair]] = ([], [])
    for key in lanes:
        ways[following[place[key[0]]] != place[key[1]]].append(key)
    return [own for own in ways if own]


def _moving_at_once(
    lanes: Mapping[Pair, Edge], place: Mapping[int, int | str], around: int, threshold: float
) -> list[list[Pair]]:
    """The lanes that move at once, one after the other all around a ring of so many links: each way, if they do."""
    keys, side = list(lanes), side_by_side(lanes.values())
    courses = [course(*edge.moved, *edge.activity(), QUANTILES) for edge in lanes.values()]
    leaving: dict[int | str, list[int]] = defaultdict(list)
    for j, (there, *_) in enumerate(keys):
        leaving[place[there]].append(j)
    graph: nx.Graph[int] = nx.Graph()
    for i, (src, here, *_) in enumerate(keys):
        for j in leaving[place[here]]:
            if place[src] != place[keys[j][1]]:
                both = beyond(min(coincides(side, i, j), coincides(side, j, i)), courses[i], courses[j])
                if both >= LEAST:
                    graph.add_edge(i, j, both=both)
    out = []
    for part in nx.connected_components(graph):
        links: list[float] = [told["both"] for _, _, told in graph.subgraph(part).edges(data=True)]
        if len(links) >= len(part) >= around and np.median(links) >= threshold:
            out.append([keys[i] for i in sorted(part)])
    return out
