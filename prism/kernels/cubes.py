"""Communicators of halving and doubling, whose rounds may stand so far apart that each looks like one of its own.

Recursive halving (Rabenseifner's all-reduce) exchanges half of the octets with one partner, a quarter with the next, and so on:
the pairs of 2^k ranks are the edges of a hypercube, each dimension of which moves half of what the one before moves. That is
so of whole steps: where records end in the middle of one, what was moved between two rests tells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from prism.kernels.edges import Edge, Pair
from prism.kernels.intervals import union

Both = tuple[int, int]
TOLERANCE = 0.01  # of volumes that are the same
LOOSE = 0.2  # of those that may be but for part of a step; a dimension moves twice what the next does


def with_cubes(parts: Sequence[set[Pair]], edges: Mapping[Pair, Edge]) -> list[set[Pair]]:
    """The communicators, with all lanes of a hypercube as one; of a square, if most of an equal one is known to be one."""
    every = _of_lanes(edges, least=2)
    whole = [lanes for dimensions, lanes in every if dimensions > 2]
    squares = [(lanes, sum(edges[key].volume for key in lanes)) for dimensions, lanes in every if dimensions == 2]
    known = [volume for lanes, volume in squares if any(part <= lanes and 2 * len(part) > len(lanes) for part in parts)]
    whole += [lanes for lanes, volume in squares if any(abs(one - volume) <= TOLERANCE * volume for one in known)]
    taken = set().union(*whole)
    return whole + [rest for part in parts if (rest := part - taken)]


def cubes(edges: Mapping[Pair, Edge]) -> list[set[Pair]]:
    """The lanes of each hypercube of three dimensions or more: a square may be two kinds of groups that cross."""
    return [lanes for _, lanes in _of_lanes(edges, least=3)]


def _of_lanes(edges: Mapping[Pair, Edge], *, least: int) -> list[tuple[int, set[Pair]]]:
    """The dimensions and the lanes of each hypercube of at `least` so many."""
    lanes: dict[Both, set[Pair]] = defaultdict(set)
    for key in edges:
        lanes[min(key[0], key[1]), max(key[0], key[1])].add(key)
    moved = {pair: sum(edges[key].volume for key in own) for pair, own in lanes.items()}
    found = list(_cubes(moved, least))
    known = {frozenset(cube) for _, cube in found}
    for _, cube in _cubes(moved, least, LOOSE):
        if frozenset(cube) not in known:
            whole = list(_cubes(_between_rests({pair: [edges[key] for key in lanes[pair]] for pair in cube}), least))
            within = {pair for _, own in whole for pair in own}
            found = [one for one in found if within.isdisjoint(one[1])] + whole
    return [(dimensions, set().union(*(lanes[pair] for pair in cube))) for dimensions, cube in found]


def _between_rests(lanes: Mapping[Both, Sequence[Edge]], *, share: float = 0.5) -> dict[Both, int]:
    """What pairs moved from the first to the last time at which all of them rested, for long; nothing if they never did twice.

    Long is at least the `share` of their third longest rest: a job may have stood still once or twice.
    """
    columns = [[getattr(edge, name) for own in lanes.values() for edge in own] for name in ("start", "end")]
    begin, end = union(*map(np.concatenate, columns))
    rest = begin[1:] - end[:-1]
    long = np.flatnonzero(rest >= share * np.sort(rest)[-min(3, len(rest))]) if len(rest) else rest
    if len(long) < 2:
        return {}
    since, until = begin[long[0] + 1], begin[long[-1] + 1]
    return {
        pair: sum(int(edge.octets[(edge.start >= since) & (edge.start < until)].sum()) for edge in own)
        for pair, own in lanes.items()
    }


def _cubes(moved: Mapping[Both, int], least: int, same: float = TOLERANCE) -> Iterator[tuple[int, list[Both]]]:
    """Sets of pairs that are hypercubes of at `least` so many dimensions, and how many those are.

    Volumes of one dimension, and halves of those of the next, are the `same` within that share.
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
    """Of volumes, ascending, from where to before where those are that are twice as much as each."""
    return np.searchsorted(volume, 2 * (1 - same) * volume), np.searchsorted(volume, 2 * (1 + same) * volume, "right")


def _is_cube(levels: Sequence[Mapping[int, int]], pairs: int) -> bool:
    """Whether partners by dimension are those of a hypercube: one each, and the order of dimensions does not matter."""
    ranks = set(levels[0])
    if len(ranks) != 2 ** len(levels) or 2 * pairs != len(ranks) * len(levels) or any(set(level) != ranks for level in levels):
        return False
    return all(a[b[rank]] == b[a[rank]] for a in levels for b in levels for rank in ranks)
