"""Find rings of directed pairs: equal octets from each endpoint to the next, back to the first.

Hand-overs of pipeline stages go down and come back up, not around. (With interleaved stages they do, but less is sent from the
last stage to the first than between others.) Two rings in opposite directions on some of the same pairs, such as context and
gradient reduction, look like hand-overs on those pairs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping

import networkx as nx

from prism.loops import constants as c
from prism.loops.arrays.edges import Edge, Pair, flipped


def rounds(edges: Mapping[Pair, Edge], host: Mapping[int, str | None], *, equal: float = c.EQUAL) -> dict[Pair, int]:
    """Return the directed pairs on rings of at least three endpoints with equal octets within the share `equal`, and the number
    of that volume, from 0.

    A ring may continue inside a `host`.
    """
    classes, said = enumerate(_classes(edges, equal)), _said(edges)
    return {key: number for number, own in classes for ring, _ in _rings(own, edges, said, host) for key in ring}


def through_hosts(edges: Mapping[Pair, Edge], host: Mapping[int, str | None], *, equal: float = c.EQUAL) -> list[list[Pair]]:
    """Return rings (`rounds`) that continue inside hosts, which they enter at one endpoint and leave at another."""
    through = [own for own in _classes(edges, equal) if any(_loose(own).values())]  # other rings do not leave the wire
    said = _said(edges if through else ())
    rings = (ring for own in through for ring in _rings(own, edges, said, host))
    return [ring for ring, inside in rings if inside and max(Counter(inside).values()) == 1]


def _rings(
    own: Collection[Pair], edges: Collection[Pair], said: Counter[int], host: Mapping[int, str | None]
) -> Iterator[tuple[list[Pair], list[str]]]:
    """Yield the rings of pairs of one volume, and the hosts in which each continues; `said`: number of `edges` at each
    endpoint.

    A ring whose pairs all have a way back is excluded, unless its members have no other traffic: stages of pipelines whose
    replicas share hosts look like that, but replicas reduce gradients.
    """
    graph: nx.Graph[int] = nx.Graph((key[0], key[1]) for key in own)
    loose = _loose(own)
    homes: dict[str, list[int]] = defaultdict(list)
    for node, more in loose.items():
        if more and (home := host.get(node)) is not None:
            homes[home].append(node)
    for nodes in homes.values():
        nx.add_path(graph, nodes)
    parts = list(nx.connected_components(graph))
    of = {node: i for i, part in enumerate(parts) for node in part}
    rings: list[list[Pair]] = [[] for _ in parts]
    for key in own:
        rings[of[key[0]]].append(key)
    inside: list[list[str]] = [[] for _ in parts]
    for home, nodes in homes.items():
        for node in nodes:
            inside[of[node]] += [home] * (loose[node] > 0)
    for part, ring, hosts in zip(parts, rings, inside, strict=True):
        two_way = bool(hosts) and all(flipped(key) in edges for key in ring)
        more = two_way and sum(said[node] for node in part) > 4 * len(ring)
        if len(part) > 2 and not more and _goes_around(ring, host):
            yield ring, hosts


def _loose(own: Collection[Pair]) -> Counter[int]:
    """Number of pairs that begin at each endpoint, minus those that end there."""
    loose = Counter(key[0] for key in own)
    loose.subtract(key[1] for key in own)
    return loose


def _said(edges: Collection[Pair]) -> Counter[int]:
    """Number of pairs that begin or end at each endpoint."""
    return Counter(end for key in edges for end in key[:2])


def _classes(edges: Mapping[Pair, Edge], equal: float) -> Iterator[list[Pair]]:
    """Yield pairs by volume, each within the share `equal` of the next."""
    own: list[Pair] = []
    for key in sorted(edges, key=lambda k: (edges[k].volume, k)):
        if own and edges[key].volume > edges[own[-1]].volume * (1 + equal):
            yield own
            own = []
        own.append(key)
    if own:
        yield own


def _goes_around(ring: Collection[Pair], host: Mapping[int, str | None]) -> bool:
    """Check whether at each endpoint one pair enters and one leaves; if only one does, its host balances it with others."""
    goes, comes = Counter(key[0] for key in ring), Counter(key[1] for key in ring)
    if max(*goes.values(), *comes.values()) > 1:
        return False
    left: Counter[int | str] = Counter()
    for node in goes.keys() ^ comes.keys():
        left[host.get(node) or node] += goes[node] - comes[node]
    return not any(left.values())
