"""Stages of a pipeline that hand on inside a host, where nobody sees it: told by when their gradients are reduced.

Tensor-parallel ranks have their gradients at the same time. Of stages the last one has them first: the last micro-batch comes
back through all stages one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np

from collectors.columns.record import Flows
from prism.layout.labels.collective_kinds import Members
from prism.layout.labels.rest_times import beat_of, steps_of
from prism.loops.arrays.intervals import Ints, nearest
from prism.loops.communicators.pair_lockstep import Collective
from prism.model import GroupKind

FEW = 4  # steps; of fewer nothing is told
CLEAR, SHORT = 6.0, 0.005  # of how apart reductions are from step to step; of a step, which work on a micro-batch exceeds

Link = tuple[int, int]


def by_rail(members: Iterable[int], host: Mapping[int, str | None], rail: Mapping[int, int]) -> list[list[int]]:
    """The endpoints of each host that has several of some `members`, in order of their rails."""
    at: dict[str, list[int]] = defaultdict(list)
    for member in sorted(members, key=lambda m: (rail[m], m)):
        if (own := host[member]) is not None:
            at[own].append(member)
    return [own for own in at.values() if len(own) > 1]


def links_inside(
    flows: Flows, kinds: Iterable[tuple[GroupKind, Collective]], hosts: Sequence[Sequence[int]], *, asked: int = 16
) -> list[Link]:
    """Who hands on to whom inside `hosts`, each the endpoints of one in order of their rails; nobody where that is not clear.

    Neighbours whose reductions begin apart are of two stages, those between which none do of one; all hosts are alike. Where
    about `asked` of them show nothing the others are not looked at.
    """
    reductions: dict[Members, list[Collective]] = defaultdict(list)
    for kind, one in kinds:
        if kind == "dp":
            reductions[one.members].append(one)
    of = {member: group for group in sorted(reductions, key=len) for member in group}
    groups = [[of.get(member, frozenset[int]()) for member in own] for own in hosts]
    if any(len(set(own)) < len(own) or len({len(group) for group in own}) > 1 for own in groups):
        return []

    @cache
    def begun(group: Members) -> Ints:
        if group not in reductions:
            return np.zeros(0, np.int64)
        own = reductions[group]
        many = len(own) > 1
        beat = steps_of(flows, np.sort(np.concatenate([one.rows for one in own]))) if many else beat_of(flows, own)
        return beat.quiet[:-1, 1]

    @cache
    def later(one: Members, other: Members) -> int:
        return _later(begun(one), begun(other))

    if not any(later(*both) for own in groups[:: max(len(groups) // asked, 1)] for both in pairwise(own)):
        return []
    orders = {tuple(later(*both) for both in pairwise(own)) for own in groups}
    order = orders.pop()
    ways = {way for way in order if way}
    return [link for own in hosts for link in _linked(own, order, *ways)] if not orders and len(ways) == 1 else []


def _linked(own: Sequence[int], order: Sequence[int], way: int) -> list[Link]:
    """The links of a host: from each rank of a stage to that at its place in the next; none where stages differ in size."""
    begins = [0, *(i for i, apart in enumerate(order, 1) if apart), len(own)]
    stages = [own[low:high] for low, high in pairwise(begins)][::-way]  # the last has its gradients first
    alike = len({len(stage) for stage in stages}) == 1
    return [link for a, b in pairwise(stages) for link in zip(a, b, strict=True)] if alike else []


def _later(one: Ints, other: Ints) -> int:
    """1 where reductions of the second begin after those of the first in all steps alike, −1 before them, else 0."""
    if min(len(one), len(other)) < FEW:
        return 0
    period = float(np.median(np.diff(one)))
    apart = nearest(one, other) - one
    usual = float(np.median(apart))
    varies = float(np.median(np.abs(apart - usual)))
    return int(np.sign(usual)) if abs(usual) > max(CLEAR * varies, SHORT * period) else 0


def with_links(
    chains: list[list[int]], stage: Mapping[int, int], links: Sequence[Link]
) -> tuple[list[list[int]], dict[int, int]]:
    """Pipelines that were seen, each in order of stage, and links inside hosts as whole ones, and everybody's stage.

    As they were where somebody would hand on to two, or be handed on to by two, or where pipelines would be of several lengths.
    """
    line: nx.DiGraph[int] = nx.DiGraph([*(pair for chain in chains for pair in pairwise(chain)), *links])
    most = max((degree for way in (line.out_degree, line.in_degree) for _, degree in way), default=0)
    if not links or most > 1 or not nx.is_directed_acyclic_graph(line):
        return chains, dict(stage)
    whole = [list(nx.topological_sort(line.subgraph(part))) for part in nx.weakly_connected_components(line)]
    if len(set(map(len, whole))) > 1:
        return chains, dict(stage)
    return sorted(whole), {member: i for chain in whole for i, member in enumerate(chain)}
