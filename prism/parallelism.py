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

import networkx as nx
import numpy as np

from collectors.record import Flows
from prism.kernels.edges import Edge, Pair, Rows, ahead, at_once, edges_of, recurring, sending
from prism.kernels.intervals import Ints
from prism.kernels.lockstep import Collective, alike, collectives, merged
from prism.kernels.rhythm import Rhythm, rhythm
from prism.kernels.rings import handed, meshes, pipelines, stitched
from prism.model import Group, GroupKind, Job, Layout, PairKind, Parallelism, Stream
from prism.model import Pair as PairOf
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
    everything = edges_of(flows, np.flatnonzero(~flows.control() & inside[flows.src] & inside[flows.dst]))
    edges = _weighty(recurring(everything), least)
    found, left = collectives(edges)
    found, crossing = pipelines(found, edges)
    left = left | crossing
    lockstep = _lockstep(found, edges)
    host = {m: topology.host(flows.endpoints[m]) if topology is not None else None for m in members}
    found, left = stitched(found, left, edges, host)
    found, left = meshes(found, left, edges)
    hands = {key: edge for key, edge in left.items() if key[::-1] in left and _balanced(edge, left[key[::-1]])}
    for pair in _exchanges(hands):
        both = [hands.pop(pair), hands.pop(pair[::-1])]
        rows = np.sort(np.concatenate([edge.rows for edge in both]))
        found.append(Collective(frozenset(edge.key for edge in both), rows, both[0].activity()))
    kinds = _kinds(flows, found)
    chains, stage = _chains(hands, _rests(flows, kinds, hands))
    shape = _Shape(flows, members, host, topology, kinds, chains, stage)
    groups, layout = shape.groups(), shape.layout()
    streams = _streams(flows, kinds, hands)
    label = _labels(len(flows), streams)
    pairs = tuple(_pair(flows, edge, label) for _, edge in sorted(everything.items()))
    return Parallelism(layout, groups, pairs, {flows.endpoints[m]: s for m, s in stage.items()}, streams, lockstep)


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
    for (src, dst), edge in edges.items():
        most[src], most[dst] = max(most[src], edge.volume), max(most[dst], edge.volume)
    return {key: edge for key, edge in edges.items() if edge.volume >= least * min(most[key[0]], most[key[1]])}


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
            edge, back = hands[pair], hands[pair[::-1]]
            near = at_once(edge, back) or alike(edge, back, {e.key: e.activity() for e in (edge, back)}) >= together
            votes += near and not handed(edge, back)
        out += own if 2 * votes > len(own) else []
    return out


def _balanced(edge: Edge, back: Edge) -> bool:
    """Whether a pair moves about as much there as back: activations go one way and their gradients come back."""
    return 2 * min(edge.volume, back.volume) >= max(edge.volume, back.volume)


def _kinds(flows: Flows, found: list[Collective]) -> list[tuple[GroupKind, Collective]]:
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
        split = _split_reductions(by_set, reductions) or _split_exchanges(set(by_set) - reductions)
        if not split:
            break
        found = [one for one in found if one.members not in split] + [merged([one for one in found if one.members in split])]
    return [("dp" if one.members in reductions else _inner_kind(one.members, by_set, reductions), one) for one in found]


def _reductions(quiet: Mapping[Members, float]) -> set[Members]:
    """The sets that reduce gradients: for each member the one quiet longest, and whatever contains that."""
    of: dict[int, list[Members]] = defaultdict(list)
    for members in quiet:
        for member in members:
            of[member].append(members)
    calmest = {member: max(own, key=lambda s: (round(quiet[s], 2), len(s), sorted(s))) for member, own in of.items()}
    return {m for m in quiet if any(m >= calmest[member] for member in m)}


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
    """Kind of a collective that is no gradient reduction: EP or CP inside a data-parallel group, TP across it."""
    if not any(members < other for other in reductions):
        return "tp"
    senders = Counter(src for one in by_set[members] for src, _ in one.edges)
    return "ep" if max(senders.values()) > 1 or len(members) == 2 else "cp"


def _rhythm(flows: Flows, rows: Rows) -> Rhythm:
    rows = rows[np.argsort(sending(flows)[rows], kind="stable")]
    return rhythm(sending(flows)[rows], flows.end_ns[rows], flows.octets[rows])


def _chains(hands: Mapping[Pair, Edge], rests: Mapping[int, Ints]) -> tuple[list[list[int]], dict[int, int]]:
    """Pipelines, each in order of stage, and the stage of each endpoint.

    A pipeline that closes on itself (interleaved stages) is opened where least is handed over.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    for (src, dst), edge in hands.items():
        if src < dst:
            back = hands[dst, src]
            times = np.concatenate([rests.get(src, NEVER), rests.get(dst, NEVER)])
            first, second = (src, dst) if ahead(edge, back, times) else (dst, src)
            graph.add_edge(first, second, octets=edge.volume)
    while not nx.is_directed_acyclic_graph(graph):
        cycle = nx.find_cycle(graph)
        graph.remove_edge(*min(cycle, key=lambda pair: (graph.edges[pair]["octets"], pair)))
    stage: dict[int, int] = {}
    for node in nx.topological_sort(graph):
        stage[node] = max((stage[before] + 1 for before in graph.predecessors(node)), default=0)
    chains = [sorted(part, key=lambda m: (stage[m], m)) for part in nx.weakly_connected_components(graph)]
    return chains, stage


def _rests(flows: Flows, kinds: list[tuple[GroupKind, Collective]], hands: Mapping[Pair, Edge]) -> dict[int, Ints]:
    """For each endpoint the times at which its step has ended: its gradients are reduced, all pipelines are empty.

    Without gradients to reduce, the times at which all pipelines rest longest.
    """
    out: dict[int, Ints] = {}
    for kind, one in kinds:
        if kind == "dp":
            quiet = _rhythm(flows, one.rows).quiet[:, 0]
            out |= {m: quiet for m in one.members if len(quiet) > len(out.get(m, NEVER))}
    if not out and hands:
        quiet = _rhythm(flows, np.concatenate([edge.rows for edge in hands.values()])).quiet[:, 0]
        out = {member: quiet for key in hands for member in key}
    return out


class _Shape:
    """The groups of a job and the sizes of its dimensions, from labelled collectives and pipelines."""

    def __init__(
        self,
        flows: Flows,
        members: list[int],
        host: Mapping[int, str | None],
        topology: Topology | None,
        kinds: list[tuple[GroupKind, Collective]],
        chains: list[list[int]],
        stage: Mapping[int, int],
    ) -> None:
        self.address = flows.endpoints
        self.members, self.host, self.stage, self.chains = members, host, stage, chains
        self.reductions = [one for kind, one in kinds if kind == "dp"]
        self.rail = {m: _rail(topology, flows.endpoints[m]) for m in members}
        self.sets: dict[GroupKind, list[Members]] = {
            kind: sorted({one.members for k, one in kinds if k == kind}, key=sorted) for kind in ("dp", "tp", "ep", "cp")
        }
        self.dp = _mode([len(s) for m in members for s in self._largest("dp", m)])
        self.pp = _mode([len(chain) for chain in chains for _ in chain])
        self.tp = _mode([len(s) for s in self.sets["tp"] for _ in s])
        self.ep = _mode([len(s) for s in self.sets["ep"] for _ in s])
        self.cp = _mode([len(s) for s in self.sets["cp"] for _ in s])
        seen = self.dp * self.pp * self.tp
        self.hidden = len(members) // seen if len(members) % seen == 0 else 1
        self.placed = self._placed() if self.hidden > 1 else []

    def _largest(self, kind: GroupKind, member: int) -> list[Members]:
        own = [s for s in self.sets[kind] if member in s]
        return [max(own, key=len)] if own else []

    def _placed(self) -> list[tuple[int, ...]]:
        """Endpoints of one host and stage that no traffic joins: tensor parallel by placement, neighbours by rail."""
        at: dict[tuple[str, int], list[int]] = defaultdict(list)
        for m in self.members:
            if (host := self.host[m]) is not None:
                at[host, self.stage.get(m, 0)].append(m)
        groups = []
        for own in at.values():
            own.sort(key=lambda m: (self.rail[m], m))
            if len(own) % self.hidden:
                return []
            groups += [tuple(own[i : i + self.hidden]) for i in range(0, len(own), self.hidden)]
        joined = any(len(s & set(g)) > 1 for s in self.sets["dp"] for g in groups)
        return [] if joined or not groups else groups

    def layout(self) -> Layout:
        """Sizes, with how far they agree with one another as confidence."""
        tp = self.tp * (self.hidden if self.placed or self.hidden > 1 else 1)
        whole = self.dp * self.pp * tp == len(self.members)
        even = [
            len({len(s) for m in self.members for s in self._largest("dp", m)}) <= 1,
            len({len(c) for c in self.chains}) <= 1,
            sum(len(c) for c in self.chains) in (0, len(self.members)),
            all(self._largest("dp", m) for m in self.members) or self.dp == 1,
            self.hidden == 1 or bool(self.placed),
            all(_closed(one, self.host) for one in self.reductions),
        ]
        confidence = (0.98 if whole else 0.5) * 0.7 ** even.count(False)
        dp = self.dp // self.cp if self.cp > 1 and self.dp % self.cp == 0 else self.dp
        return Layout(dp=dp, pp=self.pp, tp=tp, ep=self.ep, cp=self.cp, confidence=round(confidence, 3))

    def groups(self) -> tuple[Group, ...]:
        """Every group of two or more, the pipelines in order of stage."""
        sure = self.layout().confidence
        out = [Group(kind, self._names(sorted(s)), "traffic", sure) for kind, own in self.sets.items() for s in own]
        out += [Group("pp", self._names(chain), "traffic", sure) for chain in self.chains]
        out += [Group("tp", self._names(own), "placement", sure) for own in self.placed]
        return tuple(out)

    def _names(self, codes: list[int] | tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.address[code] for code in codes)


def _closed(one: Collective, host: Mapping[int, str | None]) -> bool:
    """Whether what goes into a collective's members comes out again, of each of them or of another in its host."""
    balance: Counter[int | str] = Counter()
    senders, receivers = {src for src, _ in one.edges}, {dst for _, dst in one.edges}
    for node in senders - receivers:
        balance[host.get(node) or node] += 1
    for node in receivers - senders:
        balance[host.get(node) or node] -= 1
    return not any(balance.values())


def _rail(topology: Topology | None, address: str) -> int:
    found = topology.endpoints.get(address) if topology is not None else None
    return found.rail if found is not None and found.rail is not None else -1


def _mode(sizes: list[int]) -> int:
    """The commonest size, the larger of equals; 1 where there is none."""
    count = Counter(sizes)
    return max(count, key=lambda size: (count[size], size), default=1)


def _streams(flows: Flows, kinds: list[tuple[GroupKind, Collective]], hands: Mapping[Pair, Edge]) -> tuple[Stream, ...]:
    streams = [Stream(kind, tuple(flows.endpoints[m] for m in sorted(one.members)), one.rows) for kind, one in kinds]
    streams += [Stream("pp", (flows.endpoints[src], flows.endpoints[dst]), edge.rows) for (src, dst), edge in hands.items()]
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
