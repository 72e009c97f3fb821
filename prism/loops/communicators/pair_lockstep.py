"""Find directed pairs of endpoints that move together, so belong to one collective.

In a collective all members send and receive at the same time; a hand-over between pipeline stages is alone on its pair. Two
edges that share an endpoint are alike if each is busy while the other is (coverage, weighted by octets). An edge may serve
several collectives in turn (a gradient ring and an expert all-to-all); the larger one is removed first, and the rest is
examined again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

import networkx as nx
import numpy as np

from prism.loops import constants as c
from prism.loops.arrays.edges import Edge, Pair, Rows, ends, flipped
from prism.loops.arrays.group_sums import distinct
from prism.loops.arrays.intervals import Ints, Union, covered, moved_within, union
from prism.loops.communicators.lane_order import Lanes, side_by_side
from prism.loops.communicators.lane_unions import pooled
from prism.loops.periods.stream_rhythm import Rhythm


@dataclass(frozen=True, eq=False)
class Collective:
    """Edges that move together, their rows, and their activity. `told` caches their rhythm."""

    edges: frozenset[Pair]
    rows: Rows
    window: Union
    told: list[Rhythm] = field(default_factory=list)

    @cached_property
    def members(self) -> frozenset[int]:
        """Endpoints of its edges."""
        return frozenset(end for edge in self.edges for end in ends(edge))


@dataclass(frozen=True, eq=False)
class _Clique:
    """Edges at one endpoint that are all alike; `window` is the activity of the least busy one."""

    edges: frozenset[Pair]
    window: Union


def of_lanes(sets: Sequence[Sequence[Edge]]) -> list[Collective]:
    """Convert disjoint sets of lanes to collectives."""
    every = [edge for lanes in sets for edge in lanes]
    if not every:
        return []
    keys, cuts = [edge.key for edge in every], pairwise([0, *accumulate(map(len, sets))])
    return of_places(keys, side_by_side(every), [range(*cut) for cut in cuts])


def of_places(keys: Sequence[Pair], lanes: Lanes, sets: Sequence[Sequence[int]]) -> list[Collective]:
    """Convert sets of lane indices to collectives, as `of_lanes`; `keys` and `lanes` are indexed alike."""
    return [Collective(frozenset(keys[i] for i in own), *told) for own, told in zip(sets, pooled(lanes, sets), strict=True)]


def merged(parts: list[Collective]) -> Collective:
    """Merge several collectives into one; a single one is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    return Collective(
        frozenset().union(*(one.edges for one in parts)),
        distinct(np.concatenate([one.rows for one in parts])),
        joined([one.window for one in parts]),
    )


def alike(a: Edge, b: Edge, active: Mapping[Pair, Union]) -> float:
    """Similarity of two edges, 0 … 1: the smaller share of octets that one moves while the other is busy."""
    return min(moved_within(*a.moved, *active[b.key]), moved_within(*b.moved, *active[a.key]))


def together(a: Union, b: Union) -> float:
    """Overlap of two unions, 0 … 1: the smaller share of one that the other covers."""
    return min(moved_within(*x, np.maximum(x[1] - x[0], 1), *y) for x, y in ((a, b), (b, a)))


def collectives(
    edges: Mapping[Pair, Edge], *, threshold: float = 0.5, layers: int = c.LAYERS
) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Find collectives among the edges, layer by layer; also return the remaining edges: hand-overs and single edges.

    `threshold`: share of their octets that edges must move together. `layers`: largest number of collectives that share an
    edge.
    """
    left = dict(edges)
    found: list[Collective] = []
    for _ in range(layers):
        active = {key: edge.activity() for key, edge in left.items()}
        layer = _without_rivals(_merged(_cliques(left, active, threshold), threshold))
        if not layer:
            break
        for cliques in layer:
            keys = frozenset(k for c in cliques for k in c.edges)
            window = joined([c.window for c in cliques])
            rows = []
            for key in keys:
                mine, left[key] = _within(left[key], window)
                rows.append(mine)
            found.append(Collective(keys, np.sort(np.concatenate(rows)), window))
        left = {key: edge for key, edge in left.items() if edge.volume * 20 >= edges[key].volume}
    while True:  # an added edge may bring the members that another one needs
        held = sum(len(one.edges) for one in found)
        found, left = _absorbed(found, left, edges, threshold)
        if sum(len(one.edges) for one in found) == held:
            return _settled(found, left, edges)


def _within(edge: Edge, window: Union) -> tuple[Rows, Edge]:
    """Rows of an edge within a window, and the edge with the other rows."""
    mine = covered(edge.start, edge.end, window) >= 0.5
    return edge.rows[mine], edge.only(~mine)


def _absorbed(
    found: list[Collective], left: dict[Pair, Edge], edges: Mapping[Pair, Edge], threshold: float
) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Add edges to collectives in whose windows they move but from which they could not be separated; join what they link.

    An edge belongs to a collective that it touches if it moves there at least half of the octets of the others. So does an edge
    without a way back with equal octets, even if it is too slow to keep in step.
    """
    at: dict[int, list[int]] = defaultdict(list)
    for i, one in enumerate(found):
        for member in one.members:
            at[member].append(i)
    links: nx.Graph[int] = nx.Graph()
    links.add_nodes_from(range(len(found)))
    more: dict[int, list[tuple[Pair, Rows]]] = defaultdict(list)
    volume = {i: edge_volume(one, edges) for i, one in enumerate(found)}
    for key, edge in list(left.items()):
        takers = []
        for i in sorted(set(at[edge.src] + at[edge.dst]), key=lambda i: (not ends(key) <= found[i].members, i)):
            mine, rest = _within(left[key], found[i].window)
            equal = c.NEARLY_EQUAL if ends(key) <= found[i].members else c.EQUAL
            alike_volume = any(abs(edge.volume - edges[k].volume) < equal * edge.volume for k in found[i].edges)
            if flipped(key) not in edges and alike_volume and key not in found[i].edges:
                takers.append((i, edge.rows))
            elif key not in found[i].edges and int(edge.octets.sum() - rest.volume) * 2 >= volume[i] > 0 and len(mine):
                takers.append((i, mine))
        if not takers:
            continue
        for i, mine in takers:
            more[i].append((key, mine))
            for j, _ in takers:
                if i < j and together(found[i].window, found[j].window) >= threshold:
                    links.add_edge(i, j)
        taken = distinct(np.concatenate([mine for _, mine in takers]))
        left[key] = edge.only(~np.isin(edge.rows, taken))
    whole = []
    for part in nx.connected_components(links):
        own = [found[i] for i in sorted(part)]
        gained = [Collective(frozenset([key]), mine, found[i].window) for i in part for key, mine in more[i]]
        whole.append(merged([*own, *gained]))
    return whole, left


def _settled(
    found: list[Collective], left: dict[Pair, Edge], edges: Mapping[Pair, Edge]
) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Assign rows outside every window to the collective with their edge, the nearest in time if there are several."""
    holders: dict[Pair, list[int]] = defaultdict(list)
    for i, one in enumerate(found):
        for key in one.edges:
            holders[key].append(i)
    extra: dict[int, list[Rows]] = defaultdict(list)
    given = np.concatenate([one.rows for one in found]) if found else np.zeros(0, np.intp)
    for key, own in holders.items():
        edge = edges[key]
        free = ~np.isin(edge.rows, given)
        middle = (edge.start[free] + edge.end[free]) // 2
        away = np.stack([_distance(middle, found[i].window) for i in own])
        nearest = np.argmin(away, axis=0)
        for place, i in enumerate(own):
            extra[i].append(edge.rows[free][nearest == place])
    whole = [Collective(one.edges, np.sort(np.concatenate([one.rows, *extra[i]])), one.window) for i, one in enumerate(found)]
    return whole, {key: edge for key, edge in left.items() if key not in holders and len(edge.rows)}


def _distance(times: Ints, window: Union) -> Ints:
    """Distance of each time from a non-empty union, ns."""
    start, end = window
    after = np.searchsorted(start, times, "right")
    since = times - end[np.maximum(after - 1, 0)]
    until = start[np.minimum(after, len(start) - 1)] - times
    return np.minimum(
        np.where(after > 0, np.maximum(since, 0), until), np.where(after < len(start), until, np.maximum(since, 0))
    )


def edge_volume(one: Collective, edges: Mapping[Pair, Edge]) -> float:
    """Octets of a collective's median edge."""
    return float(np.median(moved_on(one, edges)))


def moved_on(one: Collective, edges: Mapping[Pair, Edge]) -> list[int]:
    """Octets of a collective on each of its edges."""
    own = [edges[key] for key in one.edges]
    if sum(edge.high - edge.low for edge in own) == len(one.rows):
        return [edge.volume for edge in own]
    mine = np.zeros(1 + max(int(edge.rows.max(initial=0)) for edge in own), np.bool_)
    mine[one.rows] = True
    return [int(edge.octets[mine[edge.rows]].sum()) for edge in own]


def joined(windows: Iterable[Union]) -> Union:
    """Compute the union of several unions."""
    starts, ends = zip(*windows, strict=True)
    return union(np.concatenate(starts), np.concatenate(ends))


def _cliques(edges: Mapping[Pair, Edge], active: Mapping[Pair, Union], threshold: float) -> list[_Clique]:
    """Find at every endpoint the largest sets of its edges that are all alike."""
    at: dict[int, list[Edge]] = defaultdict(list)
    for edge in edges.values():
        at[edge.src].append(edge)
        at[edge.dst].append(edge)
    found = []
    known: dict[tuple[Pair, Pair], bool] = {}
    for own in at.values():
        graph: nx.Graph[Pair] = nx.Graph()
        for i, a in enumerate(own):
            for b in own[:i]:
                pair = (min(a.key, b.key), max(a.key, b.key))
                if pair not in known:
                    known[pair] = alike(a, b, active) >= threshold
                if known[pair]:
                    graph.add_edge(a.key, b.key)
        for keys in nx.find_cliques(graph):
            least = min(keys, key=lambda k: (int((active[k][1] - active[k][0]).sum()), k))
            found.append(_Clique(frozenset(keys), active[least]))
    return found


def _merged(cliques: list[_Clique], threshold: float) -> list[list[_Clique]]:
    """Join cliques of neighbouring endpoints that share an edge and a rhythm into sets."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(cliques)))
    by_edge: dict[Pair, list[int]] = defaultdict(list)
    for i, clique in enumerate(cliques):
        for key in clique.edges:
            by_edge[key].append(i)
    for sharing in by_edge.values():
        for i, j in {*pairwise(sharing), *((sharing[0], j) for j in sharing[1:])}:
            if not graph.has_edge(i, j) and together(cliques[i].window, cliques[j].window) >= threshold:
                graph.add_edge(i, j)
    return [[cliques[i] for i in sorted(part)] for part in nx.connected_components(graph)]


def _without_rivals(parts: list[list[_Clique]]) -> list[list[_Clique]]:
    """Select the sets that share no edge with a set of larger cliques."""
    keys = [frozenset(k for c in part for k in c.edges) for part in parts]
    weight = [(max(len(c.edges) for c in part), len(k)) for part, k in zip(parts, keys, strict=True)]
    holders: dict[Pair, list[int]] = defaultdict(list)
    for i, own in enumerate(keys):
        for key in own:
            holders[key].append(i)
    out = []
    for i, own in enumerate(keys):
        rivals = {j for key in own for j in holders[key] if j != i}
        if all((weight[i], -i) > (weight[j], -j) for j in rivals):
            out.append(parts[i])
    return out
