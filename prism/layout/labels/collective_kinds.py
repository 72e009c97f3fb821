"""What each collective is for, by how it lies to the others of its members and when it moves.

The one that is quiet longest, or the largest around it, is data parallel, for gradients are reduced once per step; one inside
it is expert or context parallel, unless it moves when the other does, as experts' gradients do; one across it is tensor
parallel.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from types import MappingProxyType

import networkx as nx
import numpy as np

from collectors.columns.record import Flows
from prism.layout.labels.expert_groups import beside, neighbours, partners
from prism.layout.labels.rest_times import beat_of, goes_with, rest_of, step_of
from prism.loops.arrays.edges import Pair
from prism.loops.communicators.pair_lockstep import Collective, merged
from prism.loops.periods.stream_rhythm import Rhythm
from prism.model import GroupKind

Members = frozenset[int]
NOWHERE: Mapping[int, str | None] = MappingProxyType({})


def kinds_of(
    flows: Flows, found: list[Collective], *, pure: bool = False, host: Mapping[int, str | None] = NOWHERE
) -> list[tuple[GroupKind, Collective]]:
    """What each collective is for, by how it lies to the others of its members, of which each may know its `host`."""
    beats: dict[tuple[frozenset[Pair], int], Rhythm] = {}  # most collectives stay what they were from round to round
    while True:
        by_set: dict[Members, list[Collective]] = defaultdict(list)
        for one in found:
            by_set[one.members].append(one)
            if (one.edges, len(one.rows)) not in beats:
                beats[one.edges, len(one.rows)] = beat_of(flows, [one])
        own = {members: [beats[one.edges, len(one.rows)] for one in ones] for members, ones in by_set.items()}
        step = step_of([beat for found in own.values() for beat in found])
        calm = {members: max(rest_of(beat, step) for beat in found) for members, found in own.items()}
        reductions = _reductions(calm)
        split = _split_exchanges(set(by_set) - reductions) or _crossing(set(by_set) - reductions, reductions)
        if not split:
            reductions |= _also_reduce(flows, by_set, reductions, calm, step)
            split = _split_exchanges(set(by_set) - reductions, host) or _as_large(set(by_set) - reductions)
        if not split:
            split = set() if pure else _split_reductions(by_set, reductions)
        if not split:
            break
        found = [one for one in found if one.members not in split] + [merged([one for one in found if one.members in split])]
    inner = _inner_kinds(flows, by_set, reductions)
    others = beside(flows, by_set, reductions, step, host)
    return [(others.get(id(one), inner.get(one.members, "dp")), one) for one in found]


def _reductions(quiet: Mapping[Members, float]) -> set[Members]:
    """The sets that reduce gradients: for each member the one quiet longest, or the largest that contains it."""
    of: dict[int, list[Members]] = defaultdict(list)
    for members in quiet:
        for member in members:
            of[member].append(members)
    rank = {members: (round(calm, 2), len(members), sorted(members)) for members, calm in quiet.items()}
    calmest = {max(own, key=rank.__getitem__) for own in of.values()}
    return {max((other for other in quiet if other >= calm), key=len) for calm in calmest}


def _also_reduce(
    flows: Flows,
    by_set: Mapping[Members, list[Collective]],
    reductions: set[Members],
    calm: Mapping[Members, float],
    step: float,
    *,
    kept: float = 0.6,
) -> set[Members]:
    """Sets inside a reduction that move when it does, as experts' gradients do (`_goes_with`), or are calmer than those across.

    Sets of one size inside sets of one size do the same if they rest alike; three of them are asked. Groups of experts and
    those across them may be of one size.
    """
    usual = {n: float(np.median([calm[r] for r in reductions if len(r) == n])) for n in {len(r) for r in reductions}}
    asked: dict[tuple[int, int, bool], list[tuple[Members, Members]]] = defaultdict(list)
    for members in by_set:
        if members not in reductions and (around := [r for r in reductions if members < r]):
            whole = max(around, key=len)
            asked[len(members), len(whole), calm[members] >= kept * usual[len(whole)]].append((members, whole))
    out: set[Members] = set()
    for own in asked.values():
        votes = 0
        for members, whole in own[:3]:
            votes += goes_with(flows, by_set[members], by_set[whole], calm[whole], step)
        if 2 * votes > len(own[:3]) or all(_calmer(members, whole, by_set, calm, kept) for members, whole in own):
            out |= {members for members, _ in own}
    return out


def _calmer(members: Members, whole: Members, others: Iterable[Members], calm: Mapping[Members, float], kept: float) -> bool:
    """Whether a set inside a reduction rests more than all those do that cross it there, together a grid: less than a share
    `kept` of it. Experts' gradients are reduced once per step, whenever that is; what experts are sent comes layer by layer.
    """
    across = [s for s in others if len(s) * len(members) == len(whole) and s < whole and len(s & members) == 1]
    return len(across) > 0 and max(calm[s] for s in across) < kept * calm[members]


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


def _split_exchanges(inner: set[Members], host: Mapping[int, str | None] = NOWHERE) -> set[Members]:
    """Inner sets that are rounds of one all-to-all: together every member exchanges with every other, or shares its host."""
    graph = nx.Graph((a, b) for members in inner for a in members for b in members if a < b)
    graph.add_edges_from(neighbours(graph, host))
    at: dict[int, list[Members]] = defaultdict(list)
    for members in inner:
        at[min(members)].append(members)
    for clique in sorted(map(frozenset, nx.find_cliques(graph)), key=lambda c: (-len(c), sorted(c))):
        rounds = {members for first in clique for members in at.get(first, ()) if members <= clique}
        if len(clique) > 2 and len(rounds) > 1:
            return rounds
    return set()


def _crossing(inner: set[Members], reductions: set[Members]) -> set[Members]:
    """Two inner sets that are parts of one: they share more than one member of a reduction, and neither contains the other."""
    at: dict[int, list[Members]] = defaultdict(list)
    for members in sorted(inner, key=sorted):
        for member in members:
            at[member].append(members)
    for a, b in (pair for member in sorted(at) for pair in combinations(at[member], 2)):
        if len(a & b) > 1 and not (a <= b or b <= a) and any(a | b <= whole for whole in reductions):
            return {a, b}
    return set()


def _as_large(inner: set[Members]) -> set[Members]:
    """Inner sets that are parts of one: joined where they share members, they are as large as another that is whole."""
    graph = nx.Graph((min(members), member) for members in inner for member in members)
    whole = [frozenset(part) for part in nx.connected_components(graph)]
    sizes = {len(part) for part in whole if part in inner}
    parts = sorted((part for part in whole if part not in inner and len(part) in sizes), key=sorted)
    return {members for members in inner if members < parts[0]} if parts else set()


def _inner_kinds(
    flows: Flows, by_set: Mapping[Members, list[Collective]], reductions: set[Members]
) -> dict[Members, GroupKind]:
    """Kinds of the sets that are no gradient reductions. Sets of one size do the same: what most of them look like, all are.

    Of equally many it is experts: an exchange that was not seen whole may look like a ring.
    """
    told = {members: _inner_kind(flows, members, by_set, reductions) for members in by_set if members not in reductions}
    votes: dict[int, Counter[GroupKind]] = defaultdict(Counter)
    for members, kind in told.items():
        votes[len(members)][kind] += kind != "tp"
    return {
        members: kind if kind == "tp" else max(votes[len(members)], key=lambda k: (votes[len(members)][k], k == "ep"))
        for members, kind in told.items()
    }


def _inner_kind(
    flows: Flows, members: Members, by_set: Mapping[Members, list[Collective]], reductions: set[Members]
) -> GroupKind:
    """Kind of a collective that is no gradient reduction: EP or CP inside a data-parallel group, TP across it.

    Experts have gradients of their own, reduced across the expert groups, and tokens come back from them. Context goes around
    in equal blocks, one way or both; of three members every two are neighbours.
    """
    around = [r for r in reductions if members < r]
    if not around:
        return "tp"
    if any(r < whole and len(r & members) == 1 and len(r) * len(members) == len(whole) for whole in around for r in reductions):
        return "ep"
    met = set().union(*map(partners, by_set[members]))
    if len(members) > 3:
        return "ep" if len(met) > len(members) else "cp"
    ways = {key[:2] for one in by_set[members] for key in one.edges}
    if not any(way[::-1] in ways for way in ways):
        return "cp"
    rows = np.concatenate([one.rows for one in by_set[members]])
    sent = np.bincount(flows.src[rows], weights=flows.octets[rows])
    sent = sent[sent > 0]
    return "ep" if sent.max() - sent.min() > 1e-3 * sent.max() else "cp"
