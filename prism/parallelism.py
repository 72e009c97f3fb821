"""How a job is parallelised: which traffic belongs to which kind of group, and the layout that follows.

Collectives are edges that move together (kernels.lockstep); what is left is handed over from one endpoint to another: the
pipeline. A rank may be in several collectives. The one that is quiet longest is data parallel, for gradients are reduced once
per step; one inside it is expert or context parallel; one across it is tensor parallel. Tensor parallelism inside a host is
not on the wire: it is what the sizes leave open and the placement explains.

Source: LLMPrism (arXiv 2505.00342), parallelism identification; graph shape and rhythm replace its count of sizes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise

import networkx as nx
import numpy as np

from collectors.record import Flows
from prism.kernels.communicators import communicators
from prism.kernels.edges import Edge, Pair, Rows, ahead, at_once, edges_of, ends, flipped, recurring, sending
from prism.kernels.handover import Handover, Tide, handovers
from prism.kernels.intervals import Ints
from prism.kernels.lanes import lanes
from prism.kernels.lockstep import Collective, alike, collectives, joined, merged
from prism.kernels.rhythm import Rhythm, rhythm
from prism.kernels.rings import handed, meshes, pipelines, stitched
from prism.model import GroupKind, Job, PairKind, Parallelism, Stream
from prism.model import Pair as PairOf
from prism.shape import Shape
from prism.topology import Topology

Members = frozenset[int]
NEVER = np.zeros(0, np.int64)


def infer(flows: Flows, job: Job, topology: Topology | None = None, *, least: float = 1e-3) -> Parallelism:
    """Groups and layout of one job; `flows` holds its records (others are ignored).

    Edges that carry less than `least` of what the heaviest edge at both their ends carries are not looked at.
    """
    code = {address: i for i, address in enumerate(flows.endpoints)}
    members = [code[address] for address in job.endpoints]
    inside = np.isin(np.arange(len(flows.endpoints)), members)
    payload = np.flatnonzero(~flows.control() & inside[flows.src] & inside[flows.dst])
    everything = edges_of(flows, payload)
    edges = _weighty(recurring(edges_of(flows, payload, lanes(flows, payload))), least)
    host = {m: topology.host(flows.endpoints[m]) if topology is not None else None for m in members}
    pure = _pure(flows, payload)
    tides, trees = handovers(edges)
    if not pure:
        tides, trees = {}, []
    handed_on = {key for pair in tides for key in (pair, flipped(pair))}
    found, left = (_by_lane if pure else _by_time)({k: e for k, e in edges.items() if k not in handed_on}, trees)
    lockstep = _lockstep(found, edges)
    found, left = stitched(found, left, edges, host)
    if not pure:
        found, left = meshes(found, left, edges)
    hands = {key: edge for key, edge in left.items() if flipped(key) in left and _balanced(edge, left[flipped(key)])}
    for pair in _exchanges(hands):
        both = [hands.pop(pair), hands.pop(flipped(pair))]
        rows = np.sort(np.concatenate([edge.rows for edge in both]))
        found.append(Collective(frozenset(edge.key for edge in both), rows, both[0].activity()))
    hands |= {key: edges[key] for key in handed_on}
    kinds = _kinds(flows, found, pure=pure)
    chains, stage = _chains(hands, _rests(flows, kinds), tides)
    shape = Shape(flows, members, host, topology, kinds, chains, stage)
    groups, layout = shape.groups(), shape.layout()
    streams = _streams(flows, kinds, hands)
    label = _labels(len(flows), streams)
    pairs = tuple(_pair(flows, edge, label) for _, edge in sorted(everything.items()))
    return Parallelism(layout, groups, pairs, {flows.endpoints[m]: s for m, s in stage.items()}, streams, lockstep)


def _pure(flows: Flows, payload: Rows, *, most: float = 0.95) -> bool:
    """Whether ports or queue pairs tell conversations apart, for at least `most` of the octets."""
    known = (flows.dst_qp[payload] > 0) | (flows.src_port[payload] > 0)
    return float(flows.octets[payload][known].sum()) >= most * float(flows.octets[payload].sum()) > 0


def _by_lane(edges: dict[Pair, Edge], trees: list[frozenset[Pair]]) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Collectives of lanes, each of which carries one conversation."""
    grown = {key for tree in trees for key in tree}
    found, left = communicators({key: edge for key, edge in edges.items() if key not in grown})
    for tree in trees:
        rows = np.sort(np.concatenate([edges[key].rows for key in tree]))
        found.append(Collective(tree, rows, joined([edges[key].activity() for key in sorted(tree)])))
    return found, left


def _by_time(edges: dict[Pair, Edge], _trees: list[frozenset[Pair]]) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Collectives of pairs that may carry several conversations, told apart by when they move."""
    found, left = collectives(edges)
    found, crossing = pipelines(found, edges)
    return found, left | crossing


def _lockstep(found: list[Collective], edges: Mapping[Pair, Edge], *, full: float = 0.95) -> float:
    """Share of the octets that three or more endpoints moved in lockstep; what never rests may do so by chance."""
    total = sum(edge.volume for edge in edges.values())
    moved = 0
    for one in found:
        start, end = one.window
        if len(one.members) > 2 and (end - start).sum() < full * (end[-1] - start[0]):
            moved += sum(int(edges[k].octets[np.isin(edges[k].rows, one.rows)].sum()) for k in one.edges)
    return moved / max(total, 1)


def _weighty(edges: Mapping[Pair, Edge], least: float) -> dict[Pair, Edge]:
    most: Counter[int] = Counter()
    for (src, dst, *_), edge in edges.items():
        most[src], most[dst] = max(most[src], edge.volume), max(most[dst], edge.volume)
    return {key: edge for key, edge in edges.items() if edge.volume >= least * min(most[end] for end in ends(key))}


def _exchanges(hands: Mapping[Pair, Edge], *, together: float = 0.3, equal: float = 0.03) -> list[Pair]:
    """Lone pairs that are collectives of two, which congestion, or many short messages, brought out of step.

    Pairs of equal volume do the same and are judged together, by most of them: a balanced pipeline may look like an exchange
    where activations and gradients happen to cross.
    """
    pairs = sorted((key for key in hands if key[0] < key[1]), key=lambda key: hands[key].volume)
    classes: list[list[Pair]] = []
    for pair in pairs:
        if classes and hands[pair].volume <= hands[classes[-1][0]].volume * (1 + equal):
            classes[-1].append(pair)
        else:
            classes.append([pair])
    out = []
    for own in classes:
        votes = 0
        for pair in own:
            edge, back = hands[pair], hands[flipped(pair)]
            near = at_once(edge, back) or alike(edge, back, {e.key: e.activity() for e in (edge, back)}) >= together
            votes += near and not handed(edge, back)
        out += own if 2 * votes > len(own) else []
    return out


def _balanced(edge: Edge, back: Edge) -> bool:
    """Whether a pair moves about as much there as back: activations go one way and their gradients come back."""
    return 2 * min(edge.volume, back.volume) >= max(edge.volume, back.volume)


def _kinds(flows: Flows, found: list[Collective], *, pure: bool = False) -> list[tuple[GroupKind, Collective]]:
    """What each collective is for, by how it lies to the others of its members."""
    rest: dict[tuple[frozenset[Pair], int], float] = {}  # most collectives stay what they were from round to round
    while True:
        by_set: dict[Members, list[Collective]] = defaultdict(list)
        for one in found:
            by_set[one.members].append(one)
            if (one.edges, len(one.rows)) not in rest:
                rest[one.edges, len(one.rows)] = _rhythm(flows, one.rows).rest
        calm = {members: max(rest[one.edges, len(one.rows)] for one in ones) for members, ones in by_set.items()}
        reductions = _reductions(calm)
        split = _split_exchanges(set(by_set) - reductions)
        if not split:
            reductions |= _also_reduce(flows, by_set, reductions, calm)
            split = set() if pure else _split_reductions(by_set, reductions)
        if not split:
            break
        found = [one for one in found if one.members not in split] + [merged([one for one in found if one.members in split])]
    return [("dp" if one.members in reductions else _inner_kind(one.members, by_set, reductions), one) for one in found]


def _reductions(quiet: Mapping[Members, float]) -> set[Members]:
    """The sets that reduce gradients: for each member the one quiet longest, or the largest that contains it."""
    of: dict[int, list[Members]] = defaultdict(list)
    for members in quiet:
        for member in members:
            of[member].append(members)
    calmest = {max(own, key=lambda s: (round(quiet[s], 2), len(s), sorted(s))) for own in of.values()}
    return {max((other for other in quiet if other >= calm), key=len) for calm in calmest}


def _also_reduce(
    flows: Flows,
    by_set: Mapping[Members, list[Collective]],
    reductions: set[Members],
    calm: Mapping[Members, float],
    *,
    most: float = 0.8,
    kept: float = 0.6,
) -> set[Members]:
    """Sets inside a reduction that move when it does, as experts' gradients do: `most` of their octets, and together they rest
    nearly as long, at least the share `kept`.

    Sets of one size inside sets of one size do the same; three of them are asked.
    """
    asked: dict[tuple[int, int], list[tuple[Members, Members]]] = defaultdict(list)
    for members in by_set:
        if members not in reductions and (around := [r for r in reductions if members < r]):
            asked[len(members), len(max(around, key=len))].append((members, max(around, key=len)))
    out: set[Members] = set()
    for own in asked.values():
        votes = 0
        for members, around in own[:3]:
            both = np.concatenate([one.rows for one in (*by_set[members], *by_set[around])])
            votes += (
                _follows(flows, by_set[members], by_set[around]) >= most and _rhythm(flows, both).rest >= kept * calm[around]
            )
        if 2 * votes > len(own[:3]):
            out |= {members for members, _ in own}
    return out


def _follows(flows: Flows, inner: list[Collective], around: list[Collective], *, pause: float = 0.1) -> float:
    """Share of the octets of some collectives that moved while others did or after them without a `pause` (a share of the time
    for which those rest).
    """
    quiet = _rhythm(flows, np.concatenate([one.rows for one in around])).quiet
    rows = np.concatenate([one.rows for one in inner])
    start = sending(flows)[rows]
    order = np.argsort(start, kind="stable")
    rows, start, end = rows[order], start[order], flows.end_ns[rows[order]]
    if len(quiet) < 2:
        return 0.0
    place = np.searchsorted(quiet[:-1, 0], start, "right") - 1
    resting = (place >= 0) & (start < quiet[np.maximum(place, 0), 1])
    place = np.maximum(place, 0)
    before = np.concatenate([[0], np.maximum.accumulate(end)[:-1]])
    silence = start - np.maximum(before, quiet[place, 0])
    late = resting & (silence > pause * (quiet[place, 1] - quiet[place, 0]))
    first = np.full(len(quiet), np.iinfo(np.int64).max)
    np.minimum.at(first, place[late], start[late])
    after = resting & (start >= first[place])
    return 1 - float(flows.octets[rows][after].sum()) / max(float(flows.octets[rows].sum()), 1.0)


def _split_reductions(by_set: Mapping[Members, list[Collective]], reductions: set[Members]) -> set[Members]:
    """Reductions that an inner collective shows to be one: it lies in several of them with more than one member.

    A layout's groups either contain one another or cross in one rank. Rings over several ports of a host can look apart.
    """
    for members in by_set:
        if members not in reductions:
            touched = [max((r for r in reductions if m in r), key=len, default=members) for m in members]
            share = Counter(touched)
            if len(share) > 1 and max(share.values()) > 1:
                return set(share) - {members}
    return set()


def _split_exchanges(inner: set[Members]) -> set[Members]:
    """Inner sets that are rounds of one all-to-all: together every member exchanges with every other."""
    graph = nx.Graph((a, b) for members in inner for a in members for b in members if a < b)
    for clique in sorted(nx.find_cliques(graph), key=lambda c: (-len(c), sorted(c))):
        rounds = {members for members in inner if members <= set(clique)}
        if len(clique) > 2 and len(rounds) > 1:
            return rounds
    return set()


def _inner_kind(members: Members, by_set: Mapping[Members, list[Collective]], reductions: set[Members]) -> GroupKind:
    """Kind of a collective that is no gradient reduction: EP or CP inside a data-parallel group, TP across it.

    Experts have gradients of their own, reduced across the expert groups. Context goes around in equal blocks.
    """
    around = [r for r in reductions if members < r]
    if not around:
        return "tp"
    if any(r < whole and len(r & members) == 1 and len(r) * len(members) == len(whole) for whole in around for r in reductions):
        return "ep"
    edges = [key for one in by_set[members] for key in one.edges]
    if len(members) > 2:
        partners = {(src, dst) for src, dst, *_ in edges}
        return "ep" if len(partners) > len(members) else "cp"
    moved = [sum(len(one.rows) for one in by_set[members] if key in one.edges) for key in edges]
    return "ep" if len(set(moved)) > 1 else "cp"


def _rhythm(flows: Flows, rows: Rows) -> Rhythm:
    rows = rows[np.argsort(sending(flows)[rows], kind="stable")]
    return rhythm(sending(flows)[rows], flows.end_ns[rows], flows.octets[rows])


def _chains(
    hands: Mapping[Pair, Edge], rests: Mapping[int, Ints], tides: Mapping[Pair, Handover]
) -> tuple[list[list[int]], dict[int, int]]:
    """Pipelines, each in order of stage, and the stage of each endpoint.

    All pairs of a pipeline run the same way, by most of them. One that closes on itself (interleaved stages) is opened where
    least is handed over.
    """
    moved: dict[tuple[int, int], int] = defaultdict(int)
    for (src, dst, *_), edge in hands.items():
        moved[min(src, dst), max(src, dst)] += edge.volume
    graph: nx.Graph[int] = nx.Graph(list(moved))
    chains: list[list[int]] = []
    stage: dict[int, int] = {}
    for part in sorted(map(sorted, nx.connected_components(graph))):
        inner = graph.subgraph(part)
        line = _line(inner, moved)
        if line is None:
            stage |= _stages(inner, hands, rests)
            chains.append(sorted(part, key=lambda m: (stage[m], m)))
            continue
        line = line if _runs_down(line, hands, rests, tides) else line[::-1]
        chains.append(line)
        stage |= {member: i for i, member in enumerate(line)}
    return chains, stage


def _line(graph: nx.Graph[int], moved: Mapping[tuple[int, int], int]) -> list[int] | None:
    """The members of a path from end to end; of a ring, opened where least moved; None where it branches."""
    if max(degree for _, degree in graph.degree) > 2:
        return None
    if nx.is_tree(graph):
        start = min(node for node, degree in graph.degree if degree == 1)
        return list(nx.dfs_preorder_nodes(graph, start))
    src, dst = min(((min(e), max(e)) for e in graph.edges), key=lambda e: (moved[e], e))
    return list(nx.dfs_preorder_nodes(nx.Graph(e for e in graph.edges if set(e) != {src, dst}), src))


def _runs_down(line: list[int], hands: Mapping[Pair, Edge], rests: Mapping[int, Ints], tides: Mapping[Pair, Handover]) -> bool:
    """Whether activations go from the first member of a line to the last."""
    of: dict[tuple[int, int], list[Pair]] = defaultdict(list)
    for key in hands:
        of[key[0], key[1]].append(key)
    known = any(len(rests.get(member, NEVER)) for member in line)
    if not known and (down := _empties(line[:2], of, tides)) and (up := _empties(line[:-3:-1], of, tides)):
        if max(len(down.empty), len(up.empty)) > 1.25 * min(len(down.empty), len(up.empty)):
            return len(down.empty) < len(up.empty)  # the first stage's pair is empty once a step
        return down.rest >= up.rest  # the optimizer's time comes on top
    votes = 0
    for src, dst in pairwise(line):
        for key in of[src, dst]:
            times = np.concatenate([rests.get(src, NEVER), rests.get(dst, NEVER)])
            votes += 1 if ahead(hands[key], hands[flipped(key)], times) else -1
    return votes >= 0


def _empties(ends_of: list[int], of: Mapping[tuple[int, int], list[Pair]], tides: Mapping[Pair, Handover]) -> Tide | None:
    """When the pair of two stages was empty, if activations go from the first of them to the second."""
    src, dst = ends_of
    for key in of[min(src, dst), max(src, dst)]:
        if key in tides:
            tide = tides[key].first if src < dst else tides[key].second
            return tide if len(tide.empty) else None
    return None


def _stages(graph: nx.Graph[int], hands: Mapping[Pair, Edge], rests: Mapping[int, Ints]) -> dict[int, int]:
    """Stages where pipelines branch: how many stand before each endpoint."""
    down: nx.DiGraph[int] = nx.DiGraph()
    for key, edge in hands.items():
        src, dst, *_ = key
        if src < dst and src in graph:
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


def _rests(flows: Flows, kinds: list[tuple[GroupKind, Collective]]) -> dict[int, Ints]:
    """For each endpoint the times at which its gradients are reduced: its step has ended, all pipelines are empty."""
    out: dict[int, Ints] = {}
    for kind, one in kinds:
        if kind == "dp":
            quiet = _rhythm(flows, one.rows).quiet[:, 0]
            out |= {m: quiet for m in one.members if len(quiet) > len(out.get(m, NEVER))}
    return out


def _streams(flows: Flows, kinds: list[tuple[GroupKind, Collective]], hands: Mapping[Pair, Edge]) -> tuple[Stream, ...]:
    streams = [Stream(kind, tuple(flows.endpoints[m] for m in sorted(one.members)), one.rows) for kind, one in kinds]
    streams += [Stream("pp", (flows.endpoints[src], flows.endpoints[dst]), edge.rows) for (src, dst, *_), edge in hands.items()]
    return tuple(streams)


def _labels(n: int, streams: tuple[Stream, ...]) -> np.ndarray:
    """The kind of each record."""
    label = np.full(n, -1, np.int64)
    for i, stream in enumerate(streams):
        label[stream.rows] = i
    names = np.array([stream.kind for stream in streams] + ["unknown"])
    return names[label]


def _pair(flows: Flows, edge: Edge, label: np.ndarray) -> PairOf:
    kinds, place = np.unique(label[edge.rows], return_inverse=True)
    kind: PairKind = str(kinds[np.argmax(np.bincount(place, weights=edge.octets))])  # type: ignore[assignment]
    return PairOf(flows.endpoints[edge.src], flows.endpoints[edge.dst], kind, edge.volume)
