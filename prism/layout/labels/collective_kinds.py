"""Assign a kind (dp, tp, ep, cp) to each collective, from its relation to other collectives and from its timing.

The collective that is idle longest, or the largest around it, is data parallel: gradients are reduced once per step. A
collective inside it is expert or context parallel, unless it moves at the same time, as experts' gradients do. A collective
across it is tensor parallel.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from types import MappingProxyType

import networkx as nx
import numpy as np

from collectors.columns.record import Flows
from prism.layout import constants as c
from prism.layout.labels._expert_groups import beside, neighbours, partners
from prism.layout.labels.collective_rhythms import idle_share, moves_with, rhythm_of, step_duration
from prism.loops.arrays.edges import Pair
from prism.loops.communicators.pair_lockstep import Collective, merged
from prism.loops.periods.stream_rhythm import Rhythm
from prism.model import GroupKind

Members = frozenset[int]
NOWHERE: Mapping[int, str | None] = MappingProxyType({})


def kinds_of(
    flows: Flows, found: list[Collective], *, pure: bool = False, host: Mapping[int, str | None] = NOWHERE
) -> list[tuple[GroupKind, Collective]]:
    """Assign a kind to each collective.

    Parameters
    ----------
    flows : Flows
        Records of the job.
    found : list of Collective
        Collectives; those that prove to be parts of one are merged.
    pure : bool
        Whether ports or queue pairs separate conversations.
    host : mapping
        Host of each member, None if unknown.

    Returns
    -------
    list of (kind, Collective)
    """
    rhythms: dict[tuple[frozenset[Pair], int], Rhythm] = {}  # most collectives do not change between iterations
    while True:
        by_set: dict[Members, list[Collective]] = defaultdict(list)
        for one in found:
            by_set[one.members].append(one)
            if (one.edges, len(one.rows)) not in rhythms:
                rhythms[one.edges, len(one.rows)] = rhythm_of(flows, [one])
        own = {members: [rhythms[one.edges, len(one.rows)] for one in ones] for members, ones in by_set.items()}
        step = step_duration([rhythm for found in own.values() for rhythm in found])
        idle = {members: max(idle_share(rhythm, step) for rhythm in found) for members, found in own.items()}
        reductions = _reductions(idle)
        split = _split_exchanges(set(by_set) - reductions) or _crossing(set(by_set) - reductions, reductions)
        if not split:
            reductions |= _also_reduce(flows, by_set, reductions, idle, step)
            split = _split_exchanges(set(by_set) - reductions, host) or _as_large(set(by_set) - reductions)
        if not split:
            split = set() if pure else _split_reductions(by_set, reductions)
        if not split:
            break
        found = [one for one in found if one.members not in split] + [merged([one for one in found if one.members in split])]
    inner = _inner_kinds(flows, by_set, reductions)
    others = beside(flows, by_set, reductions, step, host)
    return [(others.get(id(one), inner.get(one.members, "dp")), one) for one in found]


def _reductions(idle_shares: Mapping[Members, float]) -> set[Members]:
    """Return the sets that reduce gradients: for each member the set that is idle longest, or the largest that contains it."""
    of: dict[int, list[Members]] = defaultdict(list)
    for members in idle_shares:
        for member in members:
            of[member].append(members)
    rank = {members: (round(idle, 2), len(members), sorted(members)) for members, idle in idle_shares.items()}
    idlest = {max(own, key=rank.__getitem__) for own in of.values()}
    return {max((other for other in idle_shares if other >= idle), key=len) for idle in idlest}


def _also_reduce(
    flows: Flows,
    by_set: Mapping[Members, list[Collective]],
    reductions: set[Members],
    idle: Mapping[Members, float],
    step: float,
    *,
    min_ratio: float = c.AS_IDLE,
) -> set[Members]:
    """Return sets inside a reduction that move at the same time, as experts' gradients do, or are idle longer than those
    across.

    Sets of one size inside reductions of one size do the same if their idle shares are alike; three of them are examined.
    Groups of experts and the groups across them may have the same size.
    """
    usual = {n: float(np.median([idle[r] for r in reductions if len(r) == n])) for n in {len(r) for r in reductions}}
    candidates: dict[tuple[int, int, bool], list[tuple[Members, Members]]] = defaultdict(list)
    for members in by_set:
        if members not in reductions and (around := [r for r in reductions if members < r]):
            whole = max(around, key=len)
            candidates[len(members), len(whole), idle[members] >= min_ratio * usual[len(whole)]].append((members, whole))
    out: set[Members] = set()
    for own in candidates.values():
        votes = 0
        for members, whole in own[: c.EXAMINED_SETS]:
            votes += moves_with(flows, by_set[members], by_set[whole], idle[whole], step)
        if 2 * votes > len(own[: c.EXAMINED_SETS]) or all(
            _idler(members, whole, by_set, idle, min_ratio) for members, whole in own
        ):
            out |= {members for members, _ in own}
    return out


def _idler(members: Members, whole: Members, sets: Iterable[Members], idle: Mapping[Members, float], min_ratio: float) -> bool:
    """Check whether a set inside a reduction is idle longer than all sets that cross it there and form a grid with it.

    The idle share of those must be below `min_ratio` of its own. Experts' gradients are reduced once per step; expert tokens
    are exchanged in every layer.
    """
    across = [s for s in sets if len(s) * len(members) == len(whole) and s < whole and len(s & members) == 1]
    return len(across) > 0 and max(idle[s] for s in across) < min_ratio * idle[members]


def _split_reductions(by_set: Mapping[Members, list[Collective]], reductions: set[Members]) -> set[Members]:
    """Return reductions that are parts of one reduction: an inner collective has several members in more than one of them.

    Groups of a layout either contain one another or cross in one rank. Rings over several ports of a host can look separate.
    """
    for members in by_set:
        if members not in reductions:
            touched = [max((r for r in reductions if m in r), key=len, default=members) for m in members]
            share = Counter(touched)
            if len(share) > 1 and max(share.values()) > 1:
                return set(share) - {members}
    return set()


def _split_exchanges(inner: set[Members], host: Mapping[int, str | None] = NOWHERE) -> set[Members]:
    """Return inner sets that are rounds of one all-to-all: together each member exchanges with every other or shares its
    host.
    """
    graph = nx.Graph((a, b) for members in inner for a in members for b in members if a < b)
    graph.add_edges_from(neighbours(graph, host))
    at: dict[int, list[Members]] = defaultdict(list)
    for members in inner:
        at[min(members)].append(members)
    for clique in sorted(map(frozenset, nx.find_cliques(graph)), key=lambda own: (-len(own), sorted(own))):
        rounds = {members for first in clique for members in at.get(first, ()) if members <= clique}
        if len(clique) > 2 and len(rounds) > 1:
            return rounds
    return set()


def _crossing(inner: set[Members], reductions: set[Members]) -> set[Members]:
    """Return two inner sets that are parts of one: they share several members of a reduction, and neither contains the
    other.
    """
    at: dict[int, list[Members]] = defaultdict(list)
    for members in sorted(inner, key=sorted):
        for member in members:
            at[member].append(members)
    for a, b in (pair for member in sorted(at) for pair in combinations(at[member], 2)):
        if len(a & b) > 1 and not (a <= b or b <= a) and any(a | b <= whole for whole in reductions):
            return {a, b}
    return set()


def _as_large(inner: set[Members]) -> set[Members]:
    """Return inner sets that are parts of one: joined by shared members, they are as large as another complete set."""
    graph = nx.Graph((min(members), member) for members in inner for member in members)
    whole = [frozenset(part) for part in nx.connected_components(graph)]
    sizes = {len(part) for part in whole if part in inner}
    parts = sorted((part for part in whole if part not in inner and len(part) in sizes), key=sorted)
    return {members for members in inner if members < parts[0]} if parts else set()


def _inner_kinds(
    flows: Flows, by_set: Mapping[Members, list[Collective]], reductions: set[Members]
) -> dict[Members, GroupKind]:
    """Assign kinds to the sets that reduce no gradients. Sets of one size get the kind that most of them have.

    In a tie they are expert parallel: an incomplete exchange may look like a ring.
    """
    kind_of = {members: _inner_kind(flows, members, by_set, reductions) for members in by_set if members not in reductions}
    votes: dict[int, Counter[GroupKind]] = defaultdict(Counter)
    for members, kind in kind_of.items():
        votes[len(members)][kind] += kind != "tp"
    return {
        members: kind if kind == "tp" else max(votes[len(members)], key=lambda k: (votes[len(members)][k], k == "ep"))
        for members, kind in kind_of.items()
    }


def _inner_kind(
    flows: Flows, members: Members, by_set: Mapping[Members, list[Collective]], reductions: set[Members]
) -> GroupKind:
    """Assign a kind to a collective that reduces no gradients: EP or CP inside a data-parallel group, TP across it.

    Experts have their own gradients, reduced across the expert groups, and their tokens return. Context travels around in equal
    blocks, in one or both directions. Of three members every two are neighbours.
    """
    around = [r for r in reductions if members < r]
    if not around:
        return "tp"
    if any(r < whole and len(r & members) == 1 and len(r) * len(members) == len(whole) for whole in around for r in reductions):
        return "ep"
    pairs = set().union(*map(partners, by_set[members]))
    if len(members) > c.TRIANGLE:
        return "ep" if len(pairs) > len(members) else "cp"
    ways = {key[:2] for one in by_set[members] for key in one.edges}
    if not any(way[::-1] in ways for way in ways):
        return "cp"
    rows = np.concatenate([one.rows for one in by_set[members]])
    sent = np.bincount(flows.src[rows], weights=flows.octets[rows])
    sent = sent[sent > 0]
    return "ep" if sent.max() - sent.min() > c.EQUAL_BLOCKS * sent.max() else "cp"
