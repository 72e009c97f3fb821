"""Build hosts, leaves, spines and addresses, and find the path of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.synth.scenario.specification import Cluster

Ints = NDArray[np.int64]
OUTSIDERS = ("store", "bg0", "bg1", "monitor")  # hosts that are not in the topology


@dataclass(frozen=True, eq=False)
class Plant:
    """A built cluster. Endpoints are host-major, then `OUTSIDERS`; arrays are over endpoints."""

    cluster: Cluster
    addresses: tuple[str, ...]
    names: tuple[str, ...]
    host: Ints  # of each endpoint; each outsider has its own
    gpu: Ints
    leaf: Ints  # index in switches; the spine for the storage server
    switches: tuple[str, ...]  # leaves, then spines
    leaves: int

    @property
    def gpus(self) -> int:
        """Number of GPU endpoints."""
        return self.cluster.hosts * self.cluster.gpus

    def outsider(self, name: str) -> int:
        """Return the code of a host outside the topology."""
        return self.gpus + OUTSIDERS.index(name)

    def spine(self, src: Ints, dst: Ints, flow: Ints) -> Ints:
        """Choose the spine of each pair's flow by a hash, as ECMP does; −1 if they share a switch.

        Two pairs may share a spine while another is idle, as with real ECMP.
        """
        mixed = (src * 2654435761 + dst * 40503 + flow * 2246822519) & 0xFFFFFFFF
        mixed = ((mixed ^ (mixed >> 15)) * 2246822519) & 0xFFFFFFFF
        chosen = self.leaves + (mixed ^ (mixed >> 13)) % self.cluster.spines
        hangs = np.maximum(self.leaf[src], self.leaf[dst])
        chosen = np.where(hangs >= self.leaves, hangs, chosen)
        return np.where(self.leaf[src] == self.leaf[dst], -1, chosen)

    def topology(self) -> dict[str, Any]:
        """Build the topology document: GPU endpoints and links."""
        places = range(self.gpus)
        return {
            "endpoints": {
                self.addresses[i]: {
                    "host": f"server{self.host[i]}",
                    "rail": int(self.gpu[i]),
                    "leaf": self.switches[self.leaf[i]],
                }
                for i in places
            },
            "links": self.links(),
        }

    def links(self) -> list[list[str]]:
        """List the links from every leaf to every spine."""
        return [[leaf, spine] for leaf in self.switches[: self.leaves] for spine in self.switches[self.leaves :]]


def build(cluster: Cluster) -> Plant:
    """Build a cluster."""
    n = cluster.hosts * cluster.gpus
    host, gpu = np.divmod(np.arange(n), cluster.gpus)
    block = host // cluster.hosts_per_leaf
    leaf = block * cluster.gpus + gpu if cluster.rails else block
    leaves = int(leaf.max()) + 1
    outside = np.array([leaves, 0, leaves - 1, 0])
    addresses = [f"10.{10 + h // 250}.{h % 250}.{g + 1}" for h, g in zip(host, gpu, strict=True)]
    addresses += ["10.9.0.1", "10.9.1.1", "10.9.1.2", "10.9.2.1"]
    return Plant(
        cluster=cluster,
        addresses=tuple(addresses),
        names=(*(f"s{h}g{g}" for h, g in zip(host, gpu, strict=True)), *OUTSIDERS),
        host=np.concatenate([host, cluster.hosts + np.arange(len(OUTSIDERS))]),
        gpu=np.concatenate([gpu, np.zeros(len(OUTSIDERS), np.int64)]),
        leaf=np.concatenate([leaf, outside]),
        switches=(*(f"leaf{i}" for i in range(leaves)), *(f"spine{i}" for i in range(cluster.spines))),
        leaves=leaves,
    )
