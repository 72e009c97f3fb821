"""Pipelines: which endpoints hand over to one another, in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise

import networkx as nx
import numpy as np

from collectors.columns.record import Flows
from prism.layout.labels.rest_times import beat_of
from prism.loops.arrays.edges import Edge, Pair, ahead, flipped
from prism.loops.arrays.intervals import Ints
from prism.loops.communicators.handover_test import NEVER, Handover, Tide
from prism.loops.communicators.pair_lockstep import Collective
from prism.model import GroupKind


def chains_of(
    hands: Mapping[Pair, Edge], rests: Mapping[int, Ints], tides: Mapping[Pair, Handover]
) -> tuple[list[list[int]], dict[int, int]]:
    """Pipelines, each in order of stage, and the stage of each endpoint.

    All pairs of a pipeline run the same way, by most of them. One that closes on itself (interleaved stages) is opened where
    least is handed over.
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
            stage |= _stages(part, hands, rests)
            chains.append(sorted(part, key=lambda m: (stage[m], m)))
            continue
        line = line if _runs_down(line, hands, of, rests, tides) else line[::-1]
        chains.append(line)
        stage |= {member: i for i, member in enumerate(line)}
    return chains, stage


def lanes_of(hands: Iterable[Pair]) -> dict[tuple[int, int], list[Pair]]:
    """The lanes from each endpoint to each other one."""
    of: dict[tuple[int, int], list[Pair]] = defaultdict(list)
    for key in hands:
        of[key[0], key[1]].append(key)
    return of


def _line(graph: nx.Graph[int], part: list[int], moved: Mapping[tuple[int, int], int]) -> list[int] | None:
    """A connected part of a graph, ascending, from end to end; a ring, opened where least moved; None where it branches."""
    beside = {node: list(graph.neighbors(node)) for node in part}
    if max(map(len, beside.values())) > 2:
        return None
    before = None
    start = next((node for node in part if len(beside[node]) == 1), None)
    if start is None:
        pairs = ((node, other) for node in part for other in beside[node] if node < other)
        start, before = min(pairs, key=lambda pair: (moved[pair], pair))
    line = [start]
    while len(line) < len(part):
        before, after = line[-1], next(node for node in beside[line[-1]] if node != before)
        line.append(after)
    return line


def _runs_down(
    line: list[int],
    hands: Mapping[Pair, Edge],
    of: Mapping[tuple[int, int], list[Pair]],
    rests: Mapping[int, Ints],
    tides: Mapping[Pair, Handover],
    *,
    clear: float = 0.3,
) -> bool:
    """Whether activations go from the first member of a line to the last. `of` are the lanes between two endpoints."""
    known = any(len(rests.get(member, NEVER)) for member in line)
    if not known and (down := emptied(line[0], line[1], of, tides)) and (up := emptied(line[-1], line[-2], of, tides)):
        seldom, often = sorted((down, up), key=lambda tide: len(tide.empty))
        if len(often.empty) > 1.25 * len(seldom.empty):  # the first stage's pair is empty once a step, the last one's oftener
            return (seldom if _between(often.empty, seldom.empty) else often) is down
        if abs(down.busy - up.busy) >= clear:
            return down.busy > up.busy  # stages keep as much in flight as they can; seen the wrong way, hardly any
        quicker = np.log([_pace(hands, of, b, a) / _pace(hands, of, a, b) for a, b in pairwise(line)])
        if abs(np.median(quicker)) >= np.log(1.25):
            return bool(np.median(quicker) > 0)  # forward takes less time than backward, where they do not alternate
        return down.rest >= up.rest  # the optimizer's time comes on top
    votes = 0
    for src, dst in pairwise(line):
        for key in of.get((src, dst), ()):
            times = np.concatenate([rests.get(src, NEVER), rests.get(dst, NEVER)])
            votes += 1 if ahead(hands[key], hands[flipped(key)], times) else -1
    return votes >= 0


def _between(often: Ints, seldom: Ints) -> bool:
    """Whether what comes often does so between most of what comes more seldom; else that is of a few steps only."""
    return bool(2 * np.count_nonzero(np.diff(np.searchsorted(often, seldom))) > len(seldom) - 1)


def _pace(hands: Mapping[Pair, Edge], of: Mapping[tuple[int, int], list[Pair]], src: int, dst: int) -> float:
    """How long after one piece of work the next one is usually handed on, ns."""
    begun = np.sort(np.concatenate([NEVER, *(hands[key].activity()[0] for key in of.get((src, dst), ()))]))
    return max(float(np.median(np.diff(begun))), 1.0) if len(begun) > 1 else 1.0


def emptied(src: int, dst: int, of: Mapping[tuple[int, int], list[Pair]], tides: Mapping[Pair, Handover]) -> Tide | None:
    """When the pair of two stages was empty, if activations go from the first to the second; `of` are the lanes of pairs."""
    for key in of.get((min(src, dst), max(src, dst)), ()):
        if key in tides:
            tide = tides[key].first if src < dst else tides[key].second
            return tide if len(tide.empty) else None
    return None


def _stages(part: Collection[int], hands: Mapping[Pair, Edge], rests: Mapping[int, Ints]) -> dict[int, int]:
    """Stages where pipelines branch: how many stand before each endpoint of a `part` of them."""
    down: nx.DiGraph[int] = nx.DiGraph()
    for key, edge in hands.items():
        src, dst, *_ = key
        if src < dst and src in part:
            times = np.concatenate([rests.get(src, NEVER), rests.get(dst, NEVER)])
            first, second = (src, dst) if ahead(edge, hands[flipped(key)], times) else (dst, src)
            down.add_edge(first, second, octets=edge.volume)
    while not nx.is_directed_acyclic_graph(down):
        cycle = nx.find_cycle(down)
        down.remove_edge(*min(cycle, key=lambda pair: (down.edges[pair]["octets"], pair)))
    stage: dict[int, int] = {}
    for node in nx.topological_sort(down):
        stage[node] = max((stage[before] + 1 for before in down.predecessors(node)), default=0)
    return stage


def rests_of(flows: Flows, kinds: list[tuple[GroupKind, Collective]]) -> dict[int, Ints]:
    """For each endpoint the times at which its gradients are reduced: its step has ended, all pipelines are empty."""
    out: dict[int, Ints] = {}
    for kind, one in kinds:
        if kind == "dp":
            quiet = beat_of(flows, [one]).quiet[:, 0]
            out |= {m: quiet for m in one.members if len(quiet) > len(out.get(m, NEVER))}
    return out
