"""Convert a hypothesis for the rest of the analysis: groups, stages, and the stream of each record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import get_args

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.evidence.communicators import Communicator
from prism.evidence.member_graphs import connected
from prism.evidence.streams import Stream as Traffic
from prism.evidence.turn_taking import lead
from prism.layout.constants import Kind
from prism.layout.search.complete_layout import Hypothesis
from prism.layout.search.placement import Members
from prism.layout.search.problem import Problem
from prism.loops.arrays.group_sums import counted, numbered_pairs
from prism.model import Group, GroupKind, Layout, Pair, PairKind, Parallelism, Stream

SERVES: dict[Kind, GroupKind] = {"dp": "dp", "edp": "dp", "tied": "dp", "pp": "pp", "tp": "tp", "ep": "ep", "cp": "cp"}
ORDER: tuple[GroupKind, ...] = get_args(GroupKind)  # of groups in a report


@dataclass(frozen=True, eq=False)
class Explained:
    """Groups and stages of a hypothesis. `of` is the number of the stream of each record, −1 for none; int32[records]."""

    layout: Layout
    groups: tuple[Group, ...]
    stages: dict[str, int]
    streams: tuple[tuple[GroupKind, tuple[str, ...]], ...]
    of: NDArray[np.int32]

    def parallelism(self, flows: Flows, of: NDArray[np.int32]) -> Parallelism:
        """Return the result for other records, for example bursts: `of` assigns each of `flows` to one of the streams."""
        rows, begins = counted(of, len(self.streams), np.flatnonzero(of >= 0))
        cuts = pairwise(begins.tolist())
        streams = tuple(Stream(kind, who, rows[low:high]) for (kind, who), (low, high) in zip(self.streams, cuts, strict=True))
        return Parallelism(
            self.layout, self.groups, tuple(labelled_pairs(flows, of, [kind for kind, _ in self.streams])), self.stages, streams
        )


def _payload_pairs(flows: Flows) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.intp]]:
    """Return the records with payload, the code of each pair (source · endpoints + destination), and the pair of each."""
    payload = np.flatnonzero(~flows.control())
    return payload, *numbered_pairs(flows.src.take(payload), flows.dst.take(payload), len(flows.endpoints))


def labelled_pairs(flows: Flows, of: NDArray[np.int32], kind_of_stream: Sequence[GroupKind]) -> Iterator[Pair]:
    """Yield each pair of endpoints with the kind of most of its octets; `of` is the stream of each record, −1 for none."""
    kinds: list[PairKind] = ["unknown", *ORDER]
    kind_of = np.array([kinds.index(kind) for kind in kind_of_stream] + [0])  # the last for −1
    payload, known, number = _payload_pairs(flows)
    cell = number * len(kinds) + kind_of.take(of.take(payload))
    moved = np.bincount(cell, flows.octets.take(payload), len(known) * len(kinds)).astype(np.int64).reshape(-1, len(kinds))
    main, octets = moved.argmax(axis=1).tolist(), moved.sum(axis=1).tolist()
    for code, kind, own in zip(known.tolist(), main, octets, strict=True):
        src, dst = divmod(code, len(flows.endpoints))
        yield Pair(flows.endpoints[src], flows.endpoints[dst], kinds[kind], own)


def explained(problem: Problem, one: Hypothesis, confidence: float, flows: Flows) -> Explained:
    """Convert a hypothesis to groups, stages and streams of the records from which the problem was built."""
    served = [(SERVES[kind], c) for family, kind in zip(one.families, one.kinds, strict=True) if kind != "none" for c in family]
    component_of: dict[GroupKind, list[int]] = {
        kind: connected(len(problem.members), np.concatenate([c.joins for k, c in served if k == kind])).tolist()
        for kind in {kind for kind, _ in served}
    }
    every = [(SERVES[kind], members) for kind, members in one.groups]
    dimensions = {SERVES[kind] for kind in one.kinds if kind not in ("tied", "none")}
    for kind in dimensions - {kind for kind, _ in every}:  # experts among the same ranks as the gradients
        by: dict[int, list[int]] = defaultdict(list)
        for member, part in enumerate(component_of[kind]):  # a part has the number of its first member
            by[part].append(member)
        every += [(kind, frozenset(own)) for own in by.values() if len(own) > 1]
    every.sort(key=lambda group: ORDER.index(group[0]))
    groups = tuple(_group(problem, kind, members, component_of, confidence) for kind, members in every)
    of = np.full(len(flows), -1, np.int32)
    streams: list[tuple[GroupKind, tuple[str, ...]]] = []
    for kind, members, own in _streams(one, served):
        of[np.concatenate([stream.rows for stream in own])] = len(streams)
        streams.append((kind, tuple(problem.members[m] for m in members)))
    _complete(of, flows)
    layout = Layout(**one.layout, confidence=round(confidence, 3))
    return Explained(layout, groups, _stages(problem, one, served), tuple(streams), of)


def _complete(of: NDArray[np.int32], flows: Flows) -> None:
    """Assign the other payload of a pair to its stream, if all that is known of the pair serves one: what a restart renewed."""
    if (of >= 0)[~flows.control()].all():
        return
    payload, known, pair = _payload_pairs(flows)
    stream = of[payload]
    least, most = np.full(len(known), np.iinfo(np.int32).max), np.full(len(known), -1)
    np.minimum.at(least, pair[stream >= 0], stream[stream >= 0])
    np.maximum.at(most, pair, stream)
    alone = (stream < 0) & (least == most)[pair]
    of[payload[alone]] = most[pair[alone]]


def _group(
    problem: Problem, kind: GroupKind, members: Members, component_of: dict[GroupKind, list[int]], confidence: float
) -> Group:
    own = sorted(members)
    seen = kind in component_of and len({component_of[kind][member] for member in own}) < len(own)
    return Group(kind, tuple(problem.members[m] for m in own), "traffic" if seen else "placement", round(confidence, 3))


def _streams(
    one: Hypothesis, served: Sequence[tuple[GroupKind, Communicator]]
) -> Iterator[tuple[GroupKind, list[int], list[Traffic]]]:
    """Yield the streams: all collectives of a group of one kind; each direction of a pipeline's pair."""
    sets: dict[GroupKind, list[Members]] = defaultdict(list)
    for kind, members in one.groups:
        sets[SERVES[kind]].append(members)
    together: dict[tuple[GroupKind, Members], list[Traffic]] = defaultdict(list)
    by_pair: dict[tuple[int, int], list[Traffic]] = defaultdict(list)
    for kind, c in served:
        if kind == "pp":
            for s in c.streams:
                by_pair[s.pair].append(s)
        else:
            within = [group for group in sets[kind] if c.members <= group]
            together[kind, min(within, key=len, default=c.members)] += c.streams
    for (kind, members), own in together.items():
        yield kind, sorted(members), own
    for pair, own in by_pair.items():
        yield "pp", list(pair), own


def _stages(problem: Problem, one: Hypothesis, served: Sequence[tuple[GroupKind, Communicator]]) -> dict[str, int]:
    """Compute the stage of each member of a pipeline. Activations lead their gradients, so they run from the first stage to the
    last.
    """
    by: dict[tuple[int, int], list[Traffic]] = defaultdict(list)
    for s in (s for kind, c in served if kind == "pp" for s in c.streams):
        by[s.pair].append(s)
    out: dict[str, int] = {}
    for members in (sorted(own) for kind, own in one.groups if kind == "pp"):
        both = [(a, b) for a, b in combinations(members, 2) if (a, b) in by and (b, a) in by]
        leads = {(a, b): lead(by[a, b], by[b, a], problem.steps) for a, b in both}
        moved = {(a, b): sum(s.volume for s in by[a, b] + by[b, a]) for a, b in both}
        out |= {problem.members[member]: stage for stage, member in enumerate(_chain(members, leads, moved))}
    return out


def _chain(members: list[int], own: dict[tuple[int, int], float], moved: Mapping[tuple[int, int], float]) -> list[int]:
    """Order members from stage to stage. If the pairs form no chain, order them by how far each leads the others.

    Interleaved stages form a ring: its link from the last to the first stage is used once less, and moves the least.
    """
    if len(own) == len(members) > 2 and set(Counter(m for pair in own for m in pair).values()) == {2}:
        del own[min(own, key=lambda pair: moved[pair])]
    graph: nx.Graph[int] = nx.Graph(list(own))
    ends = [m for m in graph if graph.degree[m] == 1]
    if len(graph) == len(members) and len(ends) == 2 and len(own) == len(members) - 1:
        order = list(nx.shortest_path(graph, min(ends), max(ends)))
        forward = sum(own[a, b] if (a, b) in own else -own[b, a] for a, b in pairwise(order))
        return order if forward >= 0 else order[::-1]
    score = dict.fromkeys(members, 0.0)
    for (a, b), lead_ in own.items():
        score[a] -= lead_
        score[b] += lead_
    return sorted(members, key=lambda m: (score[m], m))
