"""Infer how a job is parallelised: assign its traffic to kinds of groups, and compute the layout.

Collectives are edges that move together (`pair_lockstep`). Remaining edges are hand-overs between endpoints: the pipeline. A
rank may be in several collectives. The collective that is idle longest is data parallel: gradients are reduced once per step. A
collective inside it is expert or context parallel; one across it is tensor parallel. Parallelism inside a host is not on the
wire: sizes and placement show it.

Source: LLMPrism (arXiv 2505.00342), parallelism identification; graph shape and rhythm replace its count of sizes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.layout import constants as c
from prism.layout.labels._dimensions import Shape
from prism.layout.labels._in_host_stages import by_rail, links_inside, with_links
from prism.layout.labels._micro_batch_groups import by_batch
from prism.layout.labels._tied_embeddings import without_tied
from prism.layout.labels.collective_kinds import kinds_of
from prism.layout.labels.pipelines import chains_of, reduction_times_of
from prism.loops.arrays.edges import Edge, Pair, Rows, at_once, edges_of, ends, flipped, recurring
from prism.loops.arrays.group_sums import numbered
from prism.loops.communicators.all_to_all import completed
from prism.loops.communicators.connection_lanes import Connections, connections, lanes, renewals
from prism.loops.communicators.halving_doubling import cubes
from prism.loops.communicators.handover_rings import circles
from prism.loops.communicators.handover_test import Handover
from prism.loops.communicators.hidden_rings import handed, meshes, pipelines, stitched
from prism.loops.communicators.lane_communicators import communicators
from prism.loops.communicators.lane_order import moves
from prism.loops.communicators.pair_lockstep import Collective, alike, collectives, moved_on, of_lanes
from prism.loops.communicators.pipeline_handovers import handovers
from prism.loops.communicators.rings import rounds, through_hosts
from prism.model import GroupKind, Job, PairKind, Parallelism, Stream
from prism.model import Pair as PairOf
from prism.topology import Topology

Members = frozenset[int]


def infer(flows: Flows, job: Job, topology: Topology | None = None, *, min_share: float = c.WEIGHTY_PAIR) -> Parallelism:
    """Infer groups, layout, stages and streams of one job.

    Parameters
    ----------
    flows : Flows
        Records that include those of the job; others are ignored.
    job : Job
        Its endpoints are the ranks.
    topology : Topology, optional
        Host and rail of the ranks.
    min_share : float
        Edges with less than this share of the octets of the heaviest edge at both of their ends are ignored.

    Returns
    -------
    Parallelism
    """
    code = {address: i for i, address in enumerate(flows.endpoints)}
    members = [code[address] for address in job.endpoints]
    inside = flows.among(job.endpoints)
    payload = np.flatnonzero(~flows.control() & inside[flows.src] & inside[flows.dst])
    known = connections(flows, payload)
    edges = _weighty(recurring(edges_of(flows, payload, lanes(flows, known))), min_share)
    host = {m: topology.host(flows.endpoints[m]) if topology is not None else None for m in members}
    rail = {m: topology.rail(flows.endpoints[m]) if topology is not None else -1 for m in members}
    pure = _pure(flows, payload)
    halved = set().union(*cubes(edges))  # a single round of halving may look like a hand-over
    handover_of, trees = handovers(_without(edges, halved), renewals(flows, known))
    (handover_of, rings), trees = (
        (circles(_without_rounds(handover_of, edges, host), edges, host), trees) if pure else (({}, []), [])
    )
    handed_on = {key for pair in handover_of for key in (pair, flipped(pair))}
    taken = handed_on.union(*(ring.edges for ring in rings))
    if pure:
        others = _without(edges, taken.union(*trees))
        rings += of_lanes([[edges[key] for key in ring] for ring in through_hosts(others, host)])
        taken = taken.union(*(ring.edges for ring in rings))
    found, left = (_by_lane if pure else _by_time)(_without(edges, taken), trees)
    lockstep = _lockstep([*found, *rings], edges)
    found, left = stitched(found, left, edges, host)
    found += rings
    if not pure:
        found, left = meshes(found, left, edges)
    hands = {key: edge for key, edge in left.items() if flipped(key) in left and _balanced(edge, left[flipped(key)])}
    found += [_of_two(hands.pop(pair), hands.pop(flipped(pair))) for pair in _exchanges(hands)]
    hands |= {key: edges[key] for key in handed_on}
    found, tied = without_tied(found, handed_on, edges)
    kinds = kinds_of(flows, completed(found, edges), pure=pure, host=host)
    if hands and _within_reductions(hands, kinds):
        found += [_of_two(hands[pair], hands[flipped(pair)]) for pair in hands if pair[0] < pair[1]]
        hands, handover_of, kinds = {}, {}, kinds_of(flows, completed(found, edges), pure=pure, host=host)
    kinds = by_batch(flows, kinds, hands, handover_of)
    chains, stage = chains_of(hands, reduction_times_of(flows, kinds) if hands else {}, handover_of)
    kinds, more = _without_ends(kinds, chains, edges)
    chains, stage = with_links(chains, stage, links_inside(flows, kinds, by_rail(members, host, rail)))
    shape = Shape(flows, members, host, rail, kinds, chains, stage, hands)
    groups, layout = shape.groups(), shape.layout
    streams = _streams(flows, [*kinds, *(("dp", one) for one in (*tied, *more))], hands)
    pairs = _pairs(flows, known, streams)
    stages = {flows.endpoints[m]: s for m, s in stage.items()}
    return Parallelism(layout, groups, pairs, stages, streams, lockstep=lockstep)


def _without(edges: Mapping[Pair, Edge], keys: Collection[Pair]) -> dict[Pair, Edge]:
    """Return the edges except those of some keys."""
    return {key: edge for key, edge in edges.items() if key not in keys} if keys else dict(edges)


def _without_rounds(
    handover_of: Mapping[Pair, Handover], edges: Mapping[Pair, Edge], host: Mapping[int, str | None]
) -> dict[Pair, Handover]:
    """Return the hand-overs except pairs on which two volumes travel around a ring, one in each direction."""
    around = rounds(edges, host) if handover_of else {}
    return {pair: tide for pair, tide in handover_of.items() if around.get(pair, -1) == around.get(flipped(pair), -1)}


def _without_ends(
    kinds: list[tuple[GroupKind, Collective]], chains: Sequence[Sequence[int]], edges: Mapping[Pair, Edge]
) -> tuple[list[tuple[GroupKind, Collective]], list[Collective]]:
    """Split collectives into those without, and those of, the reduction between first and last stage of pipelines."""
    far = [(chain[0], chain[-1]) for chain in chains if len(chain) > 2]
    kept, tied = list[tuple[GroupKind, Collective]](), list[Collective]()
    for kind, one in kinds:
        own, more = without_tied([one], far if kind == "dp" else [], edges, alone=True)
        kept += [(kind, part) for part in own]
        tied += more
    return kept, tied


def _pure(flows: Flows, payload: Rows, *, min_share: float = c.NEARLY_ALL) -> bool:
    """Check whether ports or queue pairs separate conversations for at least `min_share` of the octets."""
    known, octets = (flows.dst_qp.take(payload) > 0) | (flows.src_port.take(payload) > 0), flows.octets.take(payload)
    return float(octets[known].sum()) >= min_share * float(octets.sum()) > 0


def _by_lane(edges: dict[Pair, Edge], trees: list[frozenset[Pair]]) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Find collectives of lanes; each lane carries one conversation."""
    grown = {key for tree in trees for key in tree}
    found, left = communicators(_without(edges, grown))
    return found + of_lanes([[edges[key] for key in sorted(tree)] for tree in trees]), left


def _by_time(edges: dict[Pair, Edge], _trees: list[frozenset[Pair]]) -> tuple[list[Collective], dict[Pair, Edge]]:
    """Find collectives of pairs that may carry several conversations, separated by their times."""
    found, left = collectives(edges)
    found, crossing = pipelines(found, edges)
    return found, left | crossing


def _lockstep(found: list[Collective], edges: Mapping[Pair, Edge], *, full: float = c.NEARLY_ALL) -> float:
    """Share of the octets that three or more endpoints moved in lockstep; without collectives that are never idle."""
    total = sum(edge.volume for edge in edges.values())
    moved = 0
    for one in found:
        start, end = one.window
        if len(one.members) > 2 and (end - start).sum() < full * (end[-1] - start[0]):
            moved += sum(moved_on(one, edges))
    return moved / max(total, 1)


def _weighty(edges: Mapping[Pair, Edge], min_share: float) -> dict[Pair, Edge]:
    src, dst, volume = moves(edges.values())
    most = np.zeros(1 + max(src.max(initial=0), dst.max(initial=0)), np.int64)
    np.maximum.at(most, src, volume)
    np.maximum.at(most, dst, volume)
    kept = volume >= min_share * np.minimum(most[src], most[dst])
    return {key: edge for (key, edge), keep in zip(edges.items(), kept.tolist(), strict=True) if keep}


def _exchanges(hands: Mapping[Pair, Edge], *, together: float = c.TOGETHER, equal: float = c.EQUAL_PAIRS) -> list[Pair]:
    """Return single pairs that are collectives of two, which congestion or many short messages brought out of step.

    Pairs of equal volume are decided together by majority. A balanced pipeline may look like an exchange if activations and
    gradients happen to cross.
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


def _of_two(there: Edge, back: Edge) -> Collective:
    """Join both directions of a pair into one collective."""
    rows = np.sort(np.concatenate([there.rows, back.rows]))
    return Collective(frozenset((there.key, back.key)), rows, there.activity())


def _within_reductions(hands: Mapping[Pair, Edge], kinds: list[tuple[GroupKind, Collective]]) -> bool:
    """Check whether all pairs lie inside gradient reductions. Stages of a pipeline do not: such pairs are exchanges."""
    reductions = [one.members for kind, one in kinds if kind == "dp" and len(one.members) > 2]
    return all(any(ends(pair) <= members for members in reductions) for pair in hands)


def _balanced(edge: Edge, back: Edge) -> bool:
    """Check whether a pair moves similar octets in both directions, as activations and their gradients do."""
    return 2 * min(edge.volume, back.volume) >= max(edge.volume, back.volume)


def _streams(flows: Flows, kinds: list[tuple[GroupKind, Collective]], hands: Mapping[Pair, Edge]) -> tuple[Stream, ...]:
    streams = [Stream(kind, tuple(flows.endpoints[m] for m in sorted(one.members)), one.rows) for kind, one in kinds]
    handed: dict[Pair, list[Rows]] = defaultdict(list)  # several lanes if connections alternate
    for (src, dst, *_), edge in hands.items():
        handed[src, dst].append(edge.rows)
    for (src, dst), parts in handed.items():
        rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
        streams.append(Stream("pp", (flows.endpoints[src], flows.endpoints[dst]), np.sort(rows)))
    return tuple(streams)


def _pairs(flows: Flows, known: Connections, streams: tuple[Stream, ...]) -> tuple[PairOf, ...]:
    """Label each directed pair of endpoints with the kind of most of its octets, ordered by source and destination."""
    kinds: list[PairKind] = sorted({"unknown", *(stream.kind for stream in streams)})
    label = np.full(len(flows), kinds.index("unknown"), np.int32)
    for stream in streams:
        label[stream.rows] = kinds.index(stream.kind)
    cell = known.number.astype(np.int64) * len(kinds) + label[known.rows]
    moved = np.bincount(cell, flows.octets[known.rows], len(known.at) * len(kinds)).astype(np.int64).reshape(-1, len(kinds))
    src, dst = (side[known.rows[known.at]] for side in (flows.src, flows.dst))
    number, at = numbered(src, dst)
    by_kind = np.zeros((len(at), len(kinds)), np.int64)
    np.add.at(by_kind, number, moved)
    src, dst = src[at], dst[at]
    order = np.lexsort((dst, src))
    columns = (src[order], dst[order], by_kind.argmax(axis=1)[order], by_kind.sum(axis=1)[order])
    ends = flows.endpoints
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(PairOf(ends[one], ends[other], kinds[most], octets) for one, other, most, octets in rows)
