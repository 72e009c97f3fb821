"""Complete collectives that lockstep shows only in part: rings through hosts, and all-to-alls whose pairs alternate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

import networkx as nx
import numpy as np

from prism.loops import constants as c
from prism.loops.arrays.edges import Edge, Pair, ends, flipped
from prism.loops.arrays.intervals import Ints, covered
from prism.loops.communicators.pair_lockstep import Collective, edge_volume, joined, merged, together
from prism.loops.communicators.pipeline_handovers import both
from prism.loops.periods.common_clock import in_step
from prism.loops.periods.stream_rhythm import rhythm


def stitched(
    found: list[Collective],
    left: Mapping[Pair, Edge],
    edges: Mapping[Pair, Edge],
    host: Mapping[int, str | None],
    *,
    threshold: float = 0.5,
) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Join parts of rings that continue inside hosts: they enter at one endpoint and leave at another.

    An endpoint that only receives is an entry, one that only sends is an exit. If both are in one host and their edges move
    together, or equal volumes in equal steps, the ring continues inside. Closed rings have no open ends and stay separate, like
    twins on two rails.
    """
    parts = [*found, *(Collective(frozenset([k]), e.rows, e.activity()) for k, e in left.items() if flipped(k) not in left)]

    @cache
    def volume(i: int) -> float:
        return edge_volume(parts[i], edges)

    @cache
    def beats(i: int) -> Ints:
        return _step_ends(parts[i], edges)

    into, out = _open_ends(parts, host)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(parts)))
    for name, entered in into.items():
        for i in entered:
            for j in out[name]:
                if i != j and (
                    together(parts[i].window, parts[j].window) >= threshold
                    or (abs(volume(i) - volume(j)) <= c.NEARLY_EQUAL * volume(i) and in_step(beats(i), beats(j)))
                ):
                    graph.add_edge(i, j)
    whole: list[Collective] = []
    used: set[Pair] = set()
    for part in nx.connected_components(graph):
        keys = frozenset().union(*(parts[i].edges for i in part))
        if len(part) > 1 or min(part) < len(found):
            used |= keys
            whole.append(merged([parts[i] for i in sorted(part)]))
    return whole, {key: edge for key, edge in left.items() if key not in used}


def _open_ends(parts: list[Collective], host: Mapping[int, str | None]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """By host: the parts that enter at an endpoint without leaving there, and those that leave without entering."""
    into: dict[str, list[int]] = defaultdict(list)
    out: dict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(parts):
        senders, receivers = {key[0] for key in one.edges}, {key[1] for key in one.edges}
        for node in senders ^ receivers:
            if (name := host.get(node)) is not None:
                (out if node in senders else into)[name].append(i)
    return into, out


def _step_ends(one: Collective, edges: Mapping[Pair, Edge]) -> Ints:
    """Step ends of a collective's first edge, ns."""
    edge = edges[min(one.edges)]
    return rhythm(edge.start, edge.end, edge.octets).quiet[:, 0]


def meshes(
    found: list[Collective], left: Mapping[Pair, Edge], edges: Mapping[Pair, Edge]
) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Find all-to-alls whose pairs alternate: three or more endpoints with single edges between every two.

    They move together only over a whole round, so lockstep does not find them; pipelines and rings have no triangles. Edges
    that a ring shares with such a mesh are divided by the activity of the ring's other edges.
    """
    graph = nx.Graph((key[0], key[1]) for key in left)
    taken: set[int] = set()
    out, rest = list(found), dict(left)
    for clique in sorted(nx.find_cliques(graph), key=lambda c: (-len(c), sorted(c))):
        if len(clique) < c.TRIANGLE or taken & set(clique):
            continue
        taken |= set(clique)
        keys = [key for key in left if ends(key) <= set(clique)]
        rows = [rest.pop(key).rows for key in keys]
        for i, ring in enumerate(out):
            shared = [key for key in ring.edges if ends(key) <= set(clique)]
            pure = [edges[key].activity() for key in ring.edges if key not in shared and not ends(key) <= taken]
            if not shared or not pure:
                continue
            window, own = joined(pure), np.isin(ring.rows, np.concatenate([edges[key].rows for key in shared]))
            theirs = []
            for key in shared:
                edge = edges[key]
                theirs.append(edge.rows[(covered(edge.start, edge.end, window) < 0.5) & np.isin(edge.rows, ring.rows)])
            moved = np.isin(ring.rows, np.concatenate(theirs)) & own
            rows.append(ring.rows[moved])
            keys += shared
            out[i] = Collective(ring.edges, ring.rows[~moved], ring.window)
        out.append(Collective(frozenset(keys), np.sort(np.concatenate(rows)), joined([edges[key].activity() for key in keys])))
    return out, rest


def handed(there: Edge, back: Edge, *, most: float = c.HANDED, share: float = c.LONG_AFTER) -> bool:
    """Check whether one direction of a pair ends each step long after the other: activations down, gradients up a pipeline.

    In between the two may cross so exactly that they look like an exchange. In a step of an exchange both directions end
    together, even if one side is late. Long means more than a typical record and the `share` of a step.
    """
    found = both(there, back)
    if len(found.quiet) < c.REPETITIONS:
        return False
    ends = found.quiet[:, 0]
    last = [events[np.maximum(np.searchsorted(events, ends, "right") - 1, 0)] for events in map(np.sort, (there.end, back.end))]
    apart, long = last[1] - last[0], max(there.pace_ns(), back.pace_ns(), share * found.period_ns)
    return bool(max(np.mean(apart > long), np.mean(apart < -long)) >= most)


def pipelines(found: list[Collective], edges: Mapping[Pair, Edge]) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Split off false collectives: paths of pairs that hand over. Returns the other collectives, and those edges."""
    kept: list[Collective] = []
    split: dict[Pair, Edge] = {}
    for one in found:
        pairs = [key for key in one.edges if key[0] < key[1] and flipped(key) in one.edges]
        path = 2 * len(pairs) == len(one.edges) and len(pairs) == len(one.members) - 1
        if path and all(handed(edges[key], edges[flipped(key)]) for key in pairs):
            split |= {key: edges[key] for key in one.edges}
        else:
            kept.append(one)
    return kept, split
