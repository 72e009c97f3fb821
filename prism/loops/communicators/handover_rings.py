"""Find rings that look like hand-overs: traffic around in one direction precedes traffic in the other.

A sharded model gathers layers in one direction and scatters gradients in the other. Between the two, each pair has an excess,
as between pipeline stages. But all lanes of a ring move at the same time; those between stages do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np

from prism.loops import constants as c
from prism.loops.arrays.edges import Edge, Pair, flipped
from prism.loops.communicators.handover_test import Handover
from prism.loops.communicators.lane_order import QUANTILES, by_share, coincidences, course, side_by_side
from prism.loops.communicators.pair_lockstep import Collective, of_lanes


def circles(
    tides: Mapping[Pair, Handover],
    edges: Mapping[Pair, Edge],
    host: Mapping[int, str | None],
    *,
    threshold: float = c.AT_ONE_TIME,
) -> tuple[dict[Pair, Handover], list[Collective]]:
    """Split hand-overs into true ones and rings whose lanes move at the same time all around.

    A ring is accepted if all lanes move equal octets, in each direction: from the last pipeline stage to the first less is
    handed over, if anything. It is also accepted if most lanes move the share `threshold` of their octets, beyond chance, while
    the next one does, and none much less. A ring may continue inside a `host`.
    """
    alike = _alike_both_ways(tides, edges, host)
    known = {key for ring in alike for key in ring}
    found = of_lanes([[edges[key] for key in ring] for ring in alike])
    tides = {pair: tide for pair, tide in tides.items() if pair not in known}
    place = {end: host.get(end) or end for pair in tides for end in pair[:2]}
    graph: nx.Graph[int | str] = nx.Graph((place[a], place[b]) for a, b, *_ in tides if place[a] != place[b])
    out = dict(tides)
    for part in nx.connected_components(graph):
        if len(part) < c.TRIANGLE or any(graph.degree[node] != 2 for node in part):
            continue
        own = {key: edges[key] for pair in tides if place[pair[0]] in part for key in (pair, flipped(pair))}
        rings = _moving_at_once(own, place, len(part), threshold)
        if sum(map(len, rings)) == len(own):
            out = {pair: tide for pair, tide in out.items() if pair not in own}
            found += of_lanes([[own[key] for key in ring] for ring in rings])
    return out, found


def _alike_both_ways(
    tides: Mapping[Pair, Handover], edges: Mapping[Pair, Edge], host: Mapping[int, str | None], *, equal: float = c.EQUAL
) -> list[list[Pair]]:
    """Return the lanes of rings with equal octets: those in one direction, and those in the other.

    A ring continues inside a `host` only if nothing else moves, and separately in each direction. Hand-overs of pipeline
    replicas may form rings through hosts, too, but then gradients are reduced as well. If that happens inside hosts, half of
    the hand-overs carry activations while the others carry gradients.
    """
    graph: nx.Graph[int] = nx.Graph((pair[0], pair[1]) for pair in tides)
    ends: dict[str, list[int]] = defaultdict(list)
    for node, degree in graph.degree:
        if degree == 1 and (home := host.get(node)) is not None:
            ends[home].append(node)
    inside = [(nodes[0], nodes[1]) for nodes in ends.values() if len(nodes) == 2]
    graph.add_edges_from(inside)
    out = list[list[Pair]]()
    for part in nx.connected_components(graph):
        if len(part) < c.TRIANGLE or any(graph.degree[node] != 2 for node in part):
            continue
        own = [key for pair in tides if pair[0] in part for key in (pair, flipped(pair))]
        alone = len(own) == len(edges) or not any(pair[0] in part for pair in inside)
        volumes = [edges[key].volume for key in own]
        if alone and max(volumes) <= (1 + equal) * min(volumes):
            order = [node for node, _ in nx.find_cycle(graph, min(part))]
            after = dict(zip(order, order[1:] + order[:1], strict=True))
            ways = [[key for key in own if (after[key[0]] == key[1]) == way] for way in (True, False)]
            if not any(pair[0] in part for pair in inside) or _each_way(ways, edges):
                out += [way for way in ways if way]
    return out


def _each_way(ways: Sequence[Sequence[Pair]], edges: Mapping[Pair, Edge], *, most: int = c.COMPARED_LANES) -> bool:
    """Check whether lanes reach equal shares of their octets at the same time as others of their direction, not of the opposite
    one.

    About `most` lanes of each are examined.
    """
    ways = [way[:: max(len(way) // most, 1)] for way in ways]
    came = np.array([by_share(edges[key].start, edges[key].octets, QUANTILES) for way in ways for key in way])
    of = np.repeat([0, 1], [len(way) for way in ways])
    apart = np.array([np.median(np.abs(came - one), axis=1) for one in came])
    same = of == of[:, None]
    return bool(apart[same & ~np.eye(len(of), dtype=np.bool_)].mean() < apart[~same].mean())


def _moving_at_once(
    lanes: Mapping[Pair, Edge], place: Mapping[int, int | str], around: int, threshold: float
) -> list[list[Pair]]:
    """Return the lanes that move at the same time, one after the other all around a ring of `around` links, in each
    direction.
    """
    keys, side = list(lanes), side_by_side(lanes.values())
    busy = [course(*edge.moved, *edge.activity()).busy for edge in lanes.values()]
    leaving: dict[int | str, list[int]] = defaultdict(list)
    for j, (there, *_) in enumerate(keys):
        leaving[place[there]].append(j)
    meet = [(i, j) for i, key in enumerate(keys) for j in leaving[place[key[1]]] if place[key[0]] != place[keys[j][1]]]
    graph: nx.Graph[int] = nx.Graph()
    for (i, j), share in zip(meet, coincidences(side, np.array(meet, np.int64).reshape(-1, 2)).tolist(), strict=True):
        by_chance = max(busy[i], busy[j])
        if (both := (share - by_chance) / max(1 - by_chance, 1e-9)) >= c.AT_LEAST_AT_ONE_TIME:
            graph.add_edge(i, j, both=both)
    out = []
    for part in nx.connected_components(graph):
        links: list[float] = [told["both"] for _, _, told in graph.subgraph(part).edges(data=True)]
        if len(links) >= len(part) >= around and np.median(links) >= threshold:
            out.append([keys[i] for i in sorted(part)])
    return out
