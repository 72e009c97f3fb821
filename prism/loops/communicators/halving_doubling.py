"""Find communicators of halving and doubling; each round may look like a separate communicator.

Recursive halving (Rabenseifner's all-reduce) exchanges half of the octets with one partner, a quarter with the next, and so on.
The pairs of 2^k ranks are the edges of a hypercube; each dimension moves half of the previous one's octets. This holds for
complete steps; if records end inside a step, octets between two idle times are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from prism.loops import constants as c
from prism.loops.arrays.edges import Edge, Pair
from prism.loops.arrays.group_sums import numbered
from prism.loops.communicators.lane_order import moves
from prism.loops.communicators.step_volumes import at_rests

Both = tuple[int, int]


def with_cubes(parts: Sequence[set[Pair]], edges: Mapping[Pair, Edge]) -> list[set[Pair]]:
    """Join all lanes of a hypercube into one communicator; of a square only if most squares of that volume are known to be
    one.
    """
    every = _of_lanes(edges, least=2)
    whole = [lanes for dimensions, lanes in every if dimensions > 2]
    squares = [(lanes, sum(edges[key].volume for key in lanes)) for dimensions, lanes in every if dimensions == 2]
    known = [volume for lanes, volume in squares if any(part <= lanes and 2 * len(part) > len(lanes) for part in parts)]
    whole += [lanes for lanes, volume in squares if any(abs(one - volume) <= c.EQUAL * volume for one in known)]
    taken = set().union(*whole)
    return whole + [rest for part in parts if (rest := part - taken)]


def cubes(edges: Mapping[Pair, Edge]) -> list[set[Pair]]:
    """Return the lanes of each hypercube of at least three dimensions: a square may be two kinds of groups that cross."""
    return [lanes for _, lanes in _of_lanes(edges, least=3)]


def _of_lanes(edges: Mapping[Pair, Edge], *, least: int) -> list[tuple[int, set[Pair]]]:
    """Return the dimensions and the lanes of each hypercube of at least `least` dimensions."""
    src, dst, volume = moves(edges.values())
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    number, at = numbered(low, high)
    moved = np.bincount(number, volume, len(at)).astype(np.int64)
    total = dict(zip(zip(low[at].tolist(), high[at].tolist(), strict=True), moved.tolist(), strict=True))
    found = list(_cubes(total, least))
    known = {frozenset(cube) for _, cube in found}
    asked = [cube for _, cube in _cubes(total, least, c.LOOSE) if frozenset(cube) not in known]
    lanes: dict[Both, set[Pair]] = defaultdict(set)
    for key in edges if found or asked else ():
        lanes[min(key[0], key[1]), max(key[0], key[1])].add(key)
    for cube in asked:
        octets = at_rests([[edges[key] for key in lanes[pair]] for pair in cube])
        whole = list(_cubes(dict(zip(cube, octets[-1].tolist(), strict=True)), least)) if _as_often(octets) else []
        within = {pair for _, own in whole for pair in own}
        found = [one for one in found if within.isdisjoint(one[1])] + whole
    return [(dimensions, set().union(*(lanes[pair] for pair in cube))) for dimensions, cube in found]


def _as_often(moved: NDArray[np.int64], *, times: float = c.AS_OFTEN) -> bool:
    """Check whether all pairs send about as often between idle times: a dimension sends once or twice in a step.

    Hand-overs occur with every micro-batch; inside a step their octets may be half of another volume by chance.
    """
    if not len(moved):
        return False
    often = (np.diff(moved, axis=0, prepend=0) > 0).sum(axis=0)
    return bool(often.max() <= times * often.min())


def _cubes(moved: Mapping[Both, int], least: int, same: float = c.EQUAL) -> Iterator[tuple[int, list[Both]]]:
    """Yield sets of pairs that are hypercubes of at least `least` dimensions, and the number of dimensions.

    Volumes of one dimension, and halves of the next, are equal within the share `same`.
    """
    low, high = _doubles(np.sort(np.array(list(moved.values()), np.float64)), same)
    if not (low < high).any():
        return
    at: dict[int, list[Both]] = defaultdict(list)
    for pair in moved:
        for end in pair:
            at[end].append(pair)
    graph: nx.Graph[Both] = nx.Graph()
    for own in at.values():
        own.sort(key=moved.__getitem__)
        if moved[own[-1]] < 2 * (1 - same) * moved[own[0]]:
            continue
        volume = np.array([moved[pair] for pair in own], np.float64)
        low, high = _doubles(volume, same)
        for b in np.flatnonzero(low < high).tolist():
            graph.add_edges_from((a, own[b]) for a in own[low[b] : high[b]])
    for part in nx.connected_components(graph):
        levels: list[dict[int, int]] = []
        last = 0.0
        for pair in sorted(part, key=lambda p: moved[p]):
            if not levels or moved[pair] > last * (1 + same):
                levels.append({})
                last = moved[pair]
            levels[-1] |= {pair[0]: pair[1], pair[1]: pair[0]}
        if least <= len(levels) and _is_cube(levels, len(part)):
            yield len(levels), sorted(part)


def _doubles(volume: NDArray[np.float64], same: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For ascending volumes, return the range of those that are twice as large as each."""
    return np.searchsorted(volume, 2 * (1 - same) * volume), np.searchsorted(volume, 2 * (1 + same) * volume, "right")


def _is_cube(levels: Sequence[Mapping[int, int]], pairs: int) -> bool:
    """Check whether partners by dimension form a hypercube: one each, and the order of dimensions is irrelevant."""
    ranks = set(levels[0])
    if len(ranks) != 2 ** len(levels) or 2 * pairs != len(ranks) * len(levels) or any(set(level) != ranks for level in levels):
        return False
    return all(a[b[rank]] == b[a[rank]] for a in levels for b in levels for rank in ranks)
