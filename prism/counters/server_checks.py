"""Check jobs from port counters against servers: the NICs of one server train in one job, so their ports must agree.

A port that carries nothing says nothing. The check needs to know which ports lead to which server: from a topology, or because
the counters are those of the NICs themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.topology import Topology

Port = tuple[str, str]
QUIET = 0.1  # of the median volume of a job's ports: a port below it is not in use
NAMED = 20  # servers that disagree, named at most


@dataclass(frozen=True)
class Split:
    """A server of which some NICs are in the job and others, which carry traffic, are not."""

    server: str
    inside: tuple[Port, ...]
    outside: tuple[Port, ...]


@dataclass(frozen=True)
class Agreement:
    """Of a job's `servers` with two NICs or more in use, the `share` whose NICs are all in the job; NaN without any."""

    servers: int
    share: float
    split: tuple[Split, ...]


def by_topology(ports: Iterable[Port], topology: Topology) -> dict[Port, str]:
    """The server at each port, where the topology names leaf and port of its addresses."""
    known = {(place.leaf, place.port): place.host for place in topology.endpoints.values() if place.port and place.host}
    return {port: host for port in ports if (host := known.get(port)) is not None}


def by_name(ports: Iterable[Port]) -> dict[Port, str]:
    """The server of each port where the counters are of NICs: what names the switch elsewhere is the server."""
    return {port: port[0] for port in ports}


def agreement(
    members: Iterable[Port], ports: Sequence[Port], volume: NDArray[np.float64], servers: Mapping[Port, str]
) -> Agreement:
    """How far the NICs of each server agree that they are in a job of these `members`; `volume` is octets by port."""
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
