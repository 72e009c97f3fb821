"""Spatial pattern: rank nodes by how much their events differ from those of the others."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism.logs.parsing.log_facts import Facts
from prism.logs.parsing.log_scanner import Event, Scanner
from prism.logs.patterns._log_causes import cause_of

_PEER = re.compile(r"(?:peer|Read error|Write error|from|to|remote) \[?([0-9a-fA-F]*[.:][0-9a-fA-F.:]{3,42}?)\]?[:<]\d{2,5}")
MAX_ROOT_SHARE = 0.5  # maximum share of nodes with a root: beyond it, the root is no single node's
# Shares of correct claims in development (benchmarks/logs.py prints them). "only": just this node has a root; "first": the
# earliest of several with a root; "silent": it prints nothing while others wait; "behind": it lags in its collectives; "named":
# its peers report it.
RULE_CONFIDENCE = {
    "only": 0.97,
    "single": 0.5,
    "first": 0.7,
    "everywhere": 0.5,
    "silent": 0.9,
    "behind": 0.9,
    "named": 0.75,
    "last": 0.3,
}


@dataclass(frozen=True)
class Suspect:
    """A suspected node: a host with its suspected ranks, or a rank alone. `how`: the rule."""

    name: str
    host: str
    ranks: tuple[int, ...]
    how: str
    confidence: float
    why: str


def node_names(scanners: Sequence[Scanner], facts: Facts) -> dict[tuple[str, int | None, str], str]:
    """Map each writer (source, rank, host) to a node name: its host if known, else its rank, else its stream."""
    out: dict[tuple[str, int | None, str], str] = {}
    for one in scanners:
        for rank, host in one.writers | {(one.rank, one.host)}:
            own = host or (facts.hosts.get(rank, "") if rank is not None else "")
            out[(one.source, rank, host)] = own or (f"rank {rank}" if rank is not None else one.source)
    return out


def rank_suspects(
    left: Sequence[Event],
    writers: Mapping[tuple[str, int | None, str], str],
    facts: Facts,
    addresses: Mapping[str, str],
) -> tuple[tuple[Suspect, ...], str, str]:
    """Rank the suspected nodes, most likely first; return also the cause and the deciding signature."""
    by_node: dict[str, list[Event]] = defaultdict(list)
    for event in left:
        by_node[writers.get((event.source, event.rank, event.host), event.source)].append(event)
    everyone = _everyone(writers, by_node, facts)
    roots = {node: best for node, own in by_node.items() if (best := _root(own)) is not None}
    if roots:
        ranked, how = _by_roots(roots, everyone)
        cause, why = cause_of(roots[ranked[0]], by_node[ranked[0]])
    else:
        ranked, how = _by_waiting(by_node, everyone, facts, addresses)
        cause, why = _without_root(by_node, ranked)
    if how == "only" and len(everyone) < 2:
        how = "single"
    return tuple(_suspect(node, how if i == 0 else "last", facts, by_node, i) for i, node in enumerate(ranked[:8])), cause, why


def _everyone(writers: Mapping[tuple[str, int | None, str], str], by_node: Mapping[str, object], facts: Facts) -> list[str]:
    nodes = set(by_node)
    for (source, rank, host), name in writers.items():
        if rank is not None or host or name != source:
            nodes.add(name)
    for rank in range(min(facts.sizes.get("world", 0), 1 << 16)):
        nodes.add(facts.hosts.get(rank, f"rank {rank}"))
    seen = {rank for _, rank, _ in writers if rank is not None}
    absent = set(range(max(seen, default=-1) + 1)) - seen
    if len(absent) <= len(seen) / 2:  # gaps of ranks between others are rare
        nodes |= {facts.hosts.get(rank, f"rank {rank}") for rank in absent}
    hosted = {f"rank {rank}" for rank in facts.hosts}
    return sorted(nodes - hosted, key=_natural)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _root(own: Sequence[Event]) -> Event | None:
    roots = [event for event in own if event.signature is not None and event.signature.role == "root"]
    return max(roots, key=lambda event: (event.signature.strength if event.signature else 0, -event.numbers[0]), default=None)


def _by_roots(roots: Mapping[str, Event], everyone: Sequence[str]) -> tuple[list[str], str]:
    def order(node: str) -> tuple[float, float, int]:
        event = roots[node]
        strength = event.signature.strength if event.signature else 0
        return -strength, event.time_ns if event.time_ns is not None else float("inf"), event.numbers[0]

    ranked = sorted(roots, key=order)
    top = order(ranked[0])[0]
    equal = [node for node in ranked if order(node)[0] == top]
    if len(equal) == 1:
        return ranked, "only"
    return ranked, "everywhere" if len(equal) > MAX_ROOT_SHARE * max(len(everyone), 2) else "first"


def _by_waiting(
    by_node: Mapping[str, Sequence[Event]], everyone: Sequence[str], facts: Facts, addresses: Mapping[str, str]
) -> tuple[list[str], str]:
    """Rank nodes without a root: one that is behind, that prints nothing, or that the others name."""
    late = facts.behind()
    if late:
        return [facts.hosts.get(rank, f"rank {rank}") for rank in late], "behind"
    killed = [node for node, own in by_node.items() if any(e.signature and e.signature.name == "killed by signal" for e in own)]
    if killed and len(killed) <= MAX_ROOT_SHARE * max(len(everyone), 2):
        return killed, "only"
    silent = [node for node in everyone if not _waits(by_node.get(node, ()))]
    named = _named(by_node, facts, addresses)
    if silent and len(silent) < max(len(everyone), 2):
        ranked = sorted(silent, key=lambda node: (-named[node], _natural(node)))
        return ranked, "silent" if len(silent) == 1 else "named" if named[ranked[0]] else "last"
    ranked = [node for node, _ in named.most_common()]
    if ranked:
        return ranked, "named"
    return sorted(by_node, key=lambda node: (_first(by_node[node]), _natural(node))), "last"


def _waits(own: Sequence[Event]) -> bool:
    return any(event.signature is not None and event.signature.cause == "peer" for event in own)


def _first(own: Sequence[Event]) -> float:
    return min((event.time_ns for event in own if event.time_ns is not None), default=float("inf"))


def _named(by_node: Mapping[str, Sequence[Event]], facts: Facts, addresses: Mapping[str, str]) -> Counter[str]:
    """Count how many peers name a node by its address."""
    hosts = {address: host for host, address in facts.addresses.items()} | dict(addresses)
    votes: Counter[str] = Counter()
    for node, own in by_node.items():
        named = {hosts.get(found, found) for event in own for found in _PEER.findall(event.text)} - {node}
        votes.update(named)
    return votes


def _without_root(by_node: Mapping[str, Sequence[Event]], ranked: Sequence[str]) -> tuple[str, str]:
    own = [event for node in ranked[:1] for event in by_node.get(node, ()) if event.signature is not None]
    killed = next((event for event in own if event.signature and event.signature.name == "killed by signal"), None)
    if killed is not None:
        return "killed", "killed by signal"
    texts = [event.text for events in by_node.values() for event in events]
    late = sum(bool(re.search(r"(?i)timed? ?out|timeout", text)) for text in texts)
    lost = sum(bool(re.search(r"(?i)closed by peer|reset by peer|remote process exited|broken pipe", text)) for text in texts)
    if lost > late:
        return "killed", "connections closed; the node prints no root cause"
    return "peer", "time-out; the node prints no root cause"


def _suspect(node: str, how: str, facts: Facts, by_node: Mapping[str, Sequence[Event]], place: int) -> Suspect:
    own = [event for event in by_node.get(node, ()) if event.signature is not None]
    ranks = {event.rank for event in own if event.rank is not None} or facts.ranks.get(node, set())
    if node.startswith("rank ") and node[5:].isdigit():
        ranks = {int(node[5:])}
    best = _root(own) or (own[0] if own else None)
    host = node if node in facts.ranks or not node.startswith("rank ") else facts.hosts.get(int(node[5:]), "")
    why = best.text if best is not None else "prints nothing while others wait"
    return Suspect(node, host, tuple(sorted(ranks)), how, round(RULE_CONFIDENCE[how] * 0.5**place, 3), why)
