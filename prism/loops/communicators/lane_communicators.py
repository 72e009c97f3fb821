"""Group lanes into communicators, if ports or queue pairs separate conversations.

Lanes that meet at an endpoint belong to one communicator if they move at the same time. Short messages may not overlap; then
lanes belong together if they reach the same share of their octets, or the same burst, at the same time. Hand-overs of a
pipeline reach it one task later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, pairwise

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.connected_parts import connected
from prism.loops.arrays.edges import Edge, Pair, ends, flipped
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.communicators.halving_doubling import with_cubes
from prism.loops.communicators.lane_order import QUANTILES, homes_of, joins, moves, side_by_side
from prism.loops.communicators.pair_lockstep import Collective, joined, of_places, together
from prism.loops.communicators.step_volumes import at_rests

Mask = NDArray[np.bool_]


def communicators(
    edges: Mapping[Pair, Edge], *, threshold: float = 0.5, near: float = 0.15
) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Group lanes into collectives; also return single lanes.

    `threshold`: share of their octets that lanes move while the other does, beyond chance. `near`: largest distance in time
    otherwise, in cadences.
    """
    keys = list(edges)
    nodes, own, begins = _meeting(keys)
    rings, lanes = _rings(edges, nodes, own, begins), side_by_side(edges.values())
    pairs = joins(lanes, homes_of(rings, len(keys)), own, begins, QUANTILES, threshold, near)
    starts = np.append(rings.ravel(), np.arange(len(keys)))
    order, cuts = connected(np.concatenate((rings, pairs)), starts, len(keys))
    inside = [keys[i] for i in order.tolist()]
    parts = [set(inside[a:b]) for a, b in pairwise(cuts.tolist())]
    parts = with_cubes([piece for part in _with_ways_back(parts) for piece in _split(part, edges)], edges)
    whole = _whole(_alike([part for part in parts if len(part) > 1], edges), edges)
    place = {key: i for i, key in enumerate(keys)}
    found = of_places(keys, lanes, [sorted(place[key] for key in part) for part in whole])
    return found, {key: edges[key] for part in parts if len(part) == 1 for key in part}


def _meeting(edges: Collection[Pair]) -> tuple[Ints, Ints, Ints]:
    """Endpoints, the lanes that meet at each, endpoint by endpoint, and where those of each begin."""
    at: dict[int, list[int]] = defaultdict(list)
    for i, key in enumerate(edges):
        for end in ends(key):
            at[end].append(i)
    own = np.array(list(chain.from_iterable(at.values())), np.int64)
    return np.array(list(at), np.int64), own, np.cumsum([0, *map(len, at.values())])


def _rings(edges: Mapping[Pair, Edge], nodes: Ints, own: Ints, begins: Ints) -> Ints:
    """Pairs of lanes that continue each other: one enters and one leaves with equal octets, to another endpoint; int64[n, 2].

    Octets are equal within 1 % without a way back, within 0.1 % with one.
    """
    tolerance = np.array([1e-3 if flipped(key) in edges else 1e-2 for key in edges], np.float64)
    return _going_on(nodes, own, begins, *moves(edges.values()), tolerance)


@compiled
def _going_on(nodes: Ints, own: Ints, begins: Ints, src: Ints, dst: Ints, volume: Ints, tolerance: Floats) -> NDArray[np.int64]:
    """Lanes that enter each node and those in which they continue: lanes of equal octets lead to one other end in each
    direction.
    """
    out, n = np.empty((len(own), 2), np.int64), 0
    for k in range(len(nodes)):
        meeting = own[begins[k] : begins[k + 1]]
        for i in meeting:
            if dst[i] != nodes[k]:
                continue
            before = after = -1
            alone, first = True, n
            for j in meeting:
                if abs(volume[j] - volume[i]) <= tolerance[i] * volume[i]:
                    comes, other = dst[j] == nodes[k], src[j] + dst[j] - nodes[k]
                    known = before if comes else after
                    if known >= 0 and known != other:
                        alone = False
                        break
                    if comes:
                        before = other
                        continue
                    after = other
                    if n == len(out):
                        out = np.concatenate((out, np.empty_like(out)))
                    out[n, 0], out[n, 1] = i, j
                    n += 1
            if not (alone and before >= 0 and after >= 0 and before != after):
                n = first
    return out[:n]


def _with_ways_back(parts: list[set[Pair]]) -> list[set[Pair]]:
    """Add single lanes to the communicator that contains their way back."""
    home = {key: i for i, part in enumerate(parts) if len(part) > 1 for key in part}
    out = [set(part) if len(part) > 1 else set() for part in parts]
    for part in parts:
        if len(part) == 1:
            (key,) = part
            (out[home[flipped(key)]].add(key) if flipped(key) in home else out.append({key}))
    return [part for part in out if part]


def _split(part: set[Pair], edges: Mapping[Pair, Edge]) -> list[set[Pair]]:
    """Split a communicator if it consists of several that follow each other closely.

    Lanes of one volume join all members, and those of another volume move at other times, such as experts' gradients after the
    others. For many ranks these volumes hardly differ.
    """
    by_volume = sorted(part, key=lambda key: edges[key].volume)
    if edges[by_volume[-1]].volume <= 1.01 * edges[by_volume[0]].volume:
        return [part]
    return _parted(by_volume, edges, 1.05) or _parted(by_volume, edges, 1.01) or [part]


def _parted(by_volume: list[Pair], edges: Mapping[Pair, Edge], equal: float) -> list[set[Pair]] | None:
    """Communicators of `_split` if volumes within the factor `equal` are equal; None if there is only one."""
    classes: list[list[Pair]] = []
    for key in by_volume:
        if classes and edges[key].volume <= equal * edges[classes[-1][-1]].volume:
            classes[-1].append(key)
        else:
            classes.append([key])
    if len(classes) < 2:
        return None
    members = {end for key in by_volume for end in ends(key)}
    graphs = [nx.Graph((k[0], k[1]) for k in own) for own in classes]
    spanning = [i for i, g in enumerate(graphs) if len(g) == len(members) and nx.is_connected(g)]
    if not spanning:
        return None
    windows = [joined([edges[k].activity() for k in own]) for own in classes]
    if any(together(windows[i], windows[j]) > 0.2 for i in range(len(classes)) for j in range(i)):
        return None
    return [
        {k for k in own if k[0] in nodes}
        for own, g in zip(classes, graphs, strict=True)
        for nodes in nx.connected_components(g)
    ]


def _alike(parts: list[set[Pair]], edges: Mapping[Pair, Edge], *, loose: float = 0.1) -> list[set[Pair]]:
    """Join communicators that share an endpoint and whose lanes all move equal octets: branches of a tree.

    The octets are equal in complete steps. In total they may be equal by chance, or differ by part of a step: by `loose`.
    """
    if len(parts) < 2:
        return parts
    at: dict[int, list[int]] = defaultdict(list)
    volumes = [[edges[key].volume for key in part] for part in parts]
    least, most = ([of(own) for own in volumes] for of in (min, max))
    asked = set[tuple[int, int]]()
    for i, part in enumerate(parts):
        for end in {end for key in part for end in ends(key)}:
            at[end].append(i)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(parts)))
    for sharing in at.values():
        for n, i in enumerate(sharing):
            for j in sharing[:n]:
                high = max(most[i], most[j])
                near = (i, j) not in asked and high - min(least[i], least[j]) <= loose * high
                asked.add((i, j))
                if near and _same(parts[i], parts[j], edges):
                    graph.add_edge(i, j)
    return [set().union(*(parts[i] for i in part)) for part in nx.connected_components(graph)]


def _same(one: set[Pair], other: set[Pair], edges: Mapping[Pair, Edge]) -> bool:
    """Check whether all lanes of two communicators move equal octets; one lane of each is compared first."""
    return all(_as_much([edges[key] for key in lanes]) for lanes in ((min(one), min(other)), one | other))


def _as_much(lanes: Sequence[Edge], *, tolerance: float = 2e-3) -> bool:
    """Check whether lanes have moved equal octets at most times at which all of them are idle, if there are any.

    Totals that are equal to the octet, or nearly, are not by chance.
    """
    whole = np.array([[edge.volume for edge in lanes]])
    if np.ptp(whole) <= tolerance / 20 * whole.max():
        return True
    moved = at_rests([[edge] for edge in lanes])
    moved = moved if len(moved) else whole
    return bool(2 * np.count_nonzero(np.ptp(moved, axis=1) <= tolerance * moved.max(axis=1)) > len(moved))


def _whole(parts: list[set[Pair]], edges: Mapping[Pair, Edge]) -> list[set[Pair]]:
    """Join communicators with their fragments: inside another, with equal, double or half octets per lane.

    Four or more members that all send to each other are no fragment of members that do not: they exchange, as experts do.
    """
    if len(parts) < 2:
        return parts
    members = [frozenset(end for key in part for end in ends(key)) for part in parts]
    lanes = [len({key[:2] for key in part}) for part in parts]
    every = [len(own) > 3 and lanes[i] == len(own) * (len(own) - 1) for i, own in enumerate(members)]
    order = sorted(range(len(parts)), key=lambda i: -len(members[i]))
    at: dict[int, list[int]] = defaultdict(list)
    for i in order:
        for end in members[i]:
            at[end].append(i)
    volumes = [np.unique([edges[key].volume for key in part]) for part in parts]
    into: dict[int, int] = {}
    for big in order:
        if big in into or len(members[big]) < 3:
            continue
        ladder = np.concatenate([volumes[big] / 2, volumes[big], volumes[big] * 2])
        for i in {i for end in members[big] for i in at[end]} - into.keys():
            inside = members[i] < members[big] and every[i] <= every[big]
            if inside and (np.abs(np.log(volumes[i][:, None] / ladder)).min(axis=1) <= 0.02).all():
                into[i] = big
    out = {i: set(parts[i]) for i in range(len(parts)) if i not in into}
    for i, big in into.items():
        out[big] |= parts[i]
    return list(out.values())
