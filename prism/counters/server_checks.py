"""Check jobs from port counters against servers: the NICs of one server train in one job, so their ports must agree.

A port without traffic is ignored. The check needs the server of each port: from a topology, or because the counters are those
of the NICs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.topology import Topology

Port = tuple[str, str]
QUIET = 0.1  # share of the median volume of a job's ports below which a port is unused
NAMED = 20  # servers with a disagreement that are listed


@dataclass(frozen=True)
class Split:
    """A server with some NICs in the job and other active NICs outside it."""

    server: str
    inside: tuple[Port, ...]
    outside: tuple[Port, ...]


@dataclass(frozen=True)
class Agreement:
    """Of a job's `servers` with at least two active NICs, the `share` whose NICs are all in the job; NaN if there are none."""

    servers: int
    share: float
    split: tuple[Split, ...]


def by_topology(ports: Iterable[Port], topology: Topology) -> dict[Port, str]:
    """Server at each port, if the topology has leaf and port of its addresses."""
    known = {(place.leaf, place.port): place.host for place in topology.endpoints.values() if place.port and place.host}
    return {port: host for port in ports if (host := known.get(port)) is not None}


def by_name(ports: Iterable[Port]) -> dict[Port, str]:
    """Server of each port if the counters belong to NICs: the switch name is the server."""
    return {port: port[0] for port in ports}


def agreement(
    members: Iterable[Port], ports: Sequence[Port], volume: NDArray[np.float64], servers: Mapping[Port, str]
) -> Agreement:
    """Compute how well the NICs of each server agree about a job of these `members`; `volume`: octets by port."""
    own = set(members)
    usual = float(np.median([volume[i] for i, port in enumerate(ports) if port in own] or [0.0]))
    used = [port for i, port in enumerate(ports) if port in own or volume[i] > QUIET * usual]
    by_server: dict[str, list[Port]] = defaultdict(list)
    for port in used:
        if port in servers:
            by_server[servers[port]].append(port)
    known = {name: found for name, found in by_server.items() if len(found) > 1 and own & set(found)}
    split = [
        Split(name, tuple(port for port in found if port in own), tuple(port for port in found if port not in own))
        for name, found in sorted(known.items())
        if not own >= set(found)
    ]
    share = 1 - len(split) / len(known) if known else float("nan")
    return Agreement(len(known), share, tuple(split[:NAMED]))
