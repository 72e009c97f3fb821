"""Map node names in logs to endpoints in flows: by topology, by addresses in the logs, else by order."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism.logs.parsing.log_facts import Facts
from prism.topology import Topology


@dataclass(frozen=True)
class NodeMap:
    """Endpoints by node, and rank by endpoint. `assumed`: ranks follow the order of addresses, without confirmation."""

    of_node: Mapping[str, tuple[str, ...]]
    rank: Mapping[str, int]
    assumed: bool

    def endpoints(self, node: str, ranks: Sequence[int] = ()) -> tuple[str, ...]:
        """List the endpoints of a node in the logs, restricted to some of its ranks if these are known."""
        own = self.of_node.get(node, ())
        narrow = tuple(one for one in own if self.rank.get(one) in set(ranks))
        if narrow or own:
            return narrow or own
        return tuple(address for address, rank in self.rank.items() if rank in set(ranks))


def map_nodes(endpoints: Sequence[str], facts: Facts, topology: Topology | None) -> NodeMap:
    """Map ranks of a job to endpoints. A host with several endpoints has its ranks in their order."""
    ordered = sorted(endpoints, key=lambda one: ipaddress.ip_address(one).packed)
    of_node: dict[str, list[str]] = {}
    for address in ordered:
        host = topology.host(address) if topology else None
        if host:
            of_node.setdefault(host, []).append(address)
    for host, address in facts.addresses.items():
        if address in endpoints:
            of_node.setdefault(host, [address])
    rank: dict[str, int] = {}
    for host, own in of_node.items():
        rank |= dict(zip(own, sorted(facts.ranks.get(host, ())), strict=False))
    assumed = len(rank) < len(ordered)
    if assumed and facts.sizes.get("world", len(ordered)) == len(ordered):
        rank = {address: number for number, address in enumerate(ordered)}
    for address, number in rank.items():
        of_node.setdefault(f"rank {number}", [address])
    for number, host in facts.hosts.items():
        found = [address for address, own in rank.items() if own == number]
        if found:
            of_node.setdefault(host, found)
    return NodeMap({node: tuple(own) for node, own in of_node.items()}, rank, assumed)
