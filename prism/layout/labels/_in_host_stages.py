"""Find pipeline stages that hand over inside a host, off the wire, from the times of their gradient reductions.

Tensor-parallel ranks have their gradients at the same time. Of the stages, the last has its gradients first: the last
micro-batch returns through all stages one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np

from collectors.columns.record import Flows
from prism.layout import constants as c
from prism.layout.labels.collective_kinds import Members
from prism.layout.labels.collective_rhythms import rhythm_of, rhythm_of_rows
from prism.loops.arrays.intervals import Ints, nearest
from prism.loops.communicators.pair_lockstep import Collective
from prism.model import GroupKind

Link = tuple[int, int]


def by_rail(members: Iterable[int], host: Mapping[int, str | None], rail: Mapping[int, int]) -> list[list[int]]:
    """Return the endpoints of each host with several of the `members`, in order of their rails."""
    at: dict[str, list[int]] = defaultdict(list)
    for member in sorted(members, key=lambda m: (rail[m], m)):
        if (own := host[member]) is not None:
            at[own].append(member)
    return [own for own in at.values() if len(own) > 1]


def links_inside(
    flows: Flows,
    kinds: Iterable[tuple[GroupKind, Collective]],
    hosts: Sequence[Sequence[int]],
    *,
    max_hosts: int = c.REDUCING_HOSTS,
) -> list[Link]:
    """Return the hand-overs inside `hosts`; each host lists its endpoints in order of their rails. Empty if unclear.

    Neighbours whose reductions begin at different times belong to two stages, others to one. All hosts must agree. If about
    `max_hosts` hosts show no offset, the others are not examined.
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
        rhythm = rhythm_of_rows(flows, np.sort(np.concatenate([one.rows for one in own]))) if many else rhythm_of(flows, own)
        return rhythm.quiet[:-1, 1]

    @cache
    def compared(one: Members, other: Members) -> int:
        return _reduces_later(begun(one), begun(other))

    if not any(compared(*both) for own in groups[:: max(len(groups) // max_hosts, 1)] for both in pairwise(own)):
        return []
    orders = {tuple(compared(*both) for both in pairwise(own)) for own in groups}
    order = orders.pop()
    ways = {way for way in order if way}
    return [link for own in hosts for link in _linked(own, order, *ways)] if not orders and len(ways) == 1 else []


def _linked(own: Sequence[int], order: Sequence[int], way: int) -> list[Link]:
    """Return the links of a host: from each rank to the rank at its place in the next stage. Empty if stages differ in size."""
    begins = [0, *(i for i, apart in enumerate(order, 1) if apart), len(own)]
    stages = [own[low:high] for low, high in pairwise(begins)][::-way]  # the last stage has its gradients first
    alike = len({len(stage) for stage in stages}) == 1
    return [link for a, b in pairwise(stages) for link in zip(a, b, strict=True)] if alike else []


def _reduces_later(one: Ints, other: Ints) -> int:
    """Return 1 if reductions of the second begin later than those of the first in all steps alike, −1 if earlier, else 0."""
    if min(len(one), len(other)) < c.FEW_STEPS:
        return 0
    period = float(np.median(np.diff(one)))
    offset = nearest(one, other) - one
    median_offset = float(np.median(offset))
    deviation = float(np.median(np.abs(offset - median_offset)))
    return int(np.sign(median_offset)) if abs(median_offset) > max(c.CLEAR_OFFSET * deviation, c.SHORT_OFFSET * period) else 0


def with_links(
    chains: list[list[int]], stage: Mapping[int, int], links: Sequence[Link]
) -> tuple[list[list[int]], dict[int, int]]:
    """Join observed pipelines (each in order of stage) and links inside hosts; return the pipelines and each member's stage.

    The input is returned if an endpoint would have two successors or predecessors, or if pipelines would differ in length.
    """
    line: nx.DiGraph[int] = nx.DiGraph([*(pair for chain in chains for pair in pairwise(chain)), *links])
    most = max((degree for way in (line.out_degree, line.in_degree) for _, degree in way), default=0)
    if not links or most > 1 or not nx.is_directed_acyclic_graph(line):
        return chains, dict(stage)
    whole = [list(nx.topological_sort(line.subgraph(part))) for part in nx.weakly_connected_components(line)]
    if len(set(map(len, whole))) > 1:
        return chains, dict(stage)
    return sorted(whole), {member: i for chain in whole for i, member in enumerate(chain)}
