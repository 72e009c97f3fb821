"""Find pipelines: which endpoints hand over to which, and in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

import networkx as nx
import numpy as np

from collectors.columns.record import Flows
from prism.layout import constants as c
from prism.layout.labels.collective_rhythms import rhythm_of
from prism.loops.arrays.edges import Edge, Pair, ahead, flipped
from prism.loops.arrays.intervals import Ints
from prism.loops.communicators.handover_test import NEVER, Handover, Tide
from prism.loops.communicators.pair_lockstep import Collective
from prism.model import GroupKind


def chains_of(
    hands: Mapping[Pair, Edge], reduction_times: Mapping[int, Ints], handover_of: Mapping[Pair, Handover]
) -> tuple[list[list[int]], dict[int, int]]:
    """Return the pipelines, each in order of stage, and the stage of each endpoint.

    All pairs of a pipeline run in the same direction, by majority. A closed pipeline (interleaved stages) is opened at the pair
    with the fewest octets.

    Parameters
    ----------
    hands : mapping
        Edges of hand-overs by pair.
    reduction_times : mapping
        Times at which the gradients of an endpoint are reduced, ns.
    handover_of : mapping
        Handover test of each pair.
    """
    moved: dict[tuple[int, int], int] = defaultdict(int)
    for (src, dst, *_), edge in hands.items():
        moved[min(src, dst), max(src, dst)] += edge.volume
    of = lanes_of(hands)
    graph: nx.Graph[int] = nx.Graph(list(moved))
    chains: list[list[int]] = []
    stage: dict[int, int] = {}
    for part in sorted(map(sorted, nx.connected_components(graph))):
        line = _line(graph, part, moved)
        if line is None:
            stage |= _stages(part, hands, reduction_times)
            chains.append(sorted(part, key=lambda m: (stage[m], m)))
            continue
        line = line if _runs_down(line, hands, of, reduction_times, handover_of) else line[::-1]
        chains.append(line)
        stage |= {member: i for i, member in enumerate(line)}
    return chains, stage


def lanes_of(hands: Iterable[Pair]) -> dict[tuple[int, int], list[Pair]]:
    """Group the lanes by source and destination endpoint."""
    of: dict[tuple[int, int], list[Pair]] = defaultdict(list)
    for key in hands:
        of[key[0], key[1]].append(key)
    return of


def _line(graph: nx.Graph[int], part: list[int], moved: Mapping[tuple[int, int], int]) -> list[int] | None:
    """Order a connected part of a graph from end to end. A ring is opened at the pair with the fewest octets. None if it
    branches.
    """
    neighbours_of = {node: list(graph.neighbors(node)) for node in part}
    if max(map(len, neighbours_of.values())) > 2:
        return None
    before = None
    start = next((node for node in part if len(neighbours_of[node]) == 1), None)
    if start is None:
        pairs = ((node, other) for node in part for other in neighbours_of[node] if node < other)
        start, before = min(pairs, key=lambda pair: (moved[pair], pair))
    line = [start]
    while len(line) < len(part):
        before, after = line[-1], next(node for node in neighbours_of[line[-1]] if node != before)
        line.append(after)
    return line


def _runs_down(
    line: list[int],
    hands: Mapping[Pair, Edge],
    of: Mapping[tuple[int, int], list[Pair]],
    reduction_times: Mapping[int, Ints],
    handover_of: Mapping[Pair, Handover],
    *,
    clear: float = c.CLEAR_LEVEL,
) -> bool:
    """Check whether activations run from the first member of a line to the last. `of` are the lanes between two endpoints."""
    has_reductions = any(len(reduction_times.get(member, NEVER)) for member in line)
    if (
        not has_reductions
        and (down := emptied(line[0], line[1], of, handover_of))
        and (up := emptied(line[-1], line[-2], of, handover_of))
    ):
        rare, frequent = sorted((down, up), key=lambda tide: len(tide.empty))
        if len(frequent.empty) > c.CLEAR_RATIO * len(rare.empty):  # the first stage's pair is empty once per step
            return (rare if _between(frequent.empty, rare.empty) else frequent) is down
        if abs(down.busy - up.busy) >= clear:
            return down.busy > up.busy  # stages keep many micro-batches in flight; in the wrong direction hardly any
        speed_ratio = np.log([_pace(hands, of, b, a) / _pace(hands, of, a, b) for a, b in pairwise(line)])
        if abs(np.median(speed_ratio)) >= np.log(c.CLEAR_RATIO):
            return bool(np.median(speed_ratio) > 0)  # forward takes less time than backward if they do not alternate
        return down.rest >= up.rest  # the first stage's pause includes the optimizer
    votes = 0
    for src, dst in pairwise(line):
        for key in of.get((src, dst), ()):
            times = np.concatenate([reduction_times.get(src, NEVER), reduction_times.get(dst, NEVER)])
            votes += 1 if ahead(hands[key], hands[flipped(key)], times) else -1
    return votes >= 0


def _between(frequent: Ints, rare: Ints) -> bool:
    """Check whether a frequent event occurs between most of the rare ones; else it covers only a few steps."""
    return bool(2 * np.count_nonzero(np.diff(np.searchsorted(frequent, rare))) > len(rare) - 1)


def _pace(hands: Mapping[Pair, Edge], of: Mapping[tuple[int, int], list[Pair]], src: int, dst: int) -> float:
    """Median interval between hand-overs from one endpoint to another, ns."""
    starts = np.sort(np.concatenate([NEVER, *(hands[key].activity()[0] for key in of.get((src, dst), ()))]))
    return max(float(np.median(np.diff(starts))), 1.0) if len(starts) > 1 else 1.0


def emptied(src: int, dst: int, of: Mapping[tuple[int, int], list[Pair]], handover_of: Mapping[Pair, Handover]) -> Tide | None:
    """Return when the pair of two stages was empty, if activations run from the first to the second; `of` are the lanes."""
    for key in of.get((min(src, dst), max(src, dst)), ()):
        if key in handover_of:
            tide = handover_of[key].first if src < dst else handover_of[key].second
            return tide if len(tide.empty) else None
    return None


def _stages(part: Collection[int], hands: Mapping[Pair, Edge], reduction_times: Mapping[int, Ints]) -> dict[int, int]:
    """Compute stages of a branching pipeline: the longest path before each endpoint of `part`."""
    down: nx.DiGraph[int] = nx.DiGraph()
    for key, edge in hands.items():
        src, dst, *_ = key
        if src < dst and src in part:
            times = np.concatenate([reduction_times.get(src, NEVER), reduction_times.get(dst, NEVER)])
            first, second = (src, dst) if ahead(edge, hands[flipped(key)], times) else (dst, src)
            down.add_edge(first, second, octets=edge.volume)
    while not nx.is_directed_acyclic_graph(down):
        cycle = nx.find_cycle(down)
        down.remove_edge(*min(cycle, key=lambda pair: (down.edges[pair]["octets"], pair)))
    stage: dict[int, int] = {}
    for node in nx.topological_sort(down):
        stage[node] = max((stage[before] + 1 for before in down.predecessors(node)), default=0)
    return stage


def reduction_times_of(flows: Flows, kinds: list[tuple[GroupKind, Collective]]) -> dict[int, Ints]:
    """Return for each endpoint the times of its gradient reductions, ns: the step has ended, and all pipelines are empty."""
    out: dict[int, Ints] = {}
    for kind, one in kinds:
        if kind == "dp":
            quiet = rhythm_of(flows, [one]).quiet[:, 0]
            out |= {m: quiet for m in one.members if len(quiet) > len(out.get(m, NEVER))}
    return out
