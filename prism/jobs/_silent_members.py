"""Find silent members of a job: endpoints without traffic, because their part of a ring or tree stays inside the host.

There are three kinds of evidence. Hosts of a job give it equal numbers of GPUs, so a host with fewer endpoints on the wire has
silent ones. A ring that enters a host at one endpoint and leaves it at another passes the GPUs between. A job that uses most
GPUs of its hosts uses all that nobody else does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from prism.evidence.constants import OPEN
from prism.jobs.clusters import Members
from prism.loops.arrays.pair_volumes import Carried
from prism.topology import Topology


def silent_members(
    names: Sequence[str],
    members: Members,
    steady: Carried,
    topology: Topology,
    busy: Collection[str],
) -> tuple[str, ...]:
    """Return the endpoints on the hosts of `members` (codes of `names`) that belong to the same job and are not `busy`."""
    at: dict[str, list[int]] = defaultdict(list)
    for member in members:
        host = topology.host(names[member])
        if host is not None:
            at[host].append(member)
    speaking = {names[member] for member in members}.union(busy)
    free = {host: [address for address in topology.at[host] if address not in speaking] for host in at}
    candidates = [address for own in free.values() for address in own]
    width = max(map(len, at.values()))
    if len({len(own) for own in at.values()}) == 1 and 2 * sum(map(bool, free.values())) < len(free):
        return ()  # equal numbers speak, and most hosts have no more: those of the others belong to another job
    if len(candidates) < len(members):
        return tuple(candidates)
    rails = {topology.rail(names[member]) for member in members}
    missing = [
        address
        for host, own in at.items()
        for address in [one for one in free[host] if topology.rail(one) in rails][: width - len(own)]
    ]
    if 0 < len(missing) <= len(members):
        return tuple(missing)
    return tuple(candidates) if _passes_through(at, steady) else ()


def _passes_through(at: Mapping[str, list[int]], steady: Carried) -> bool:
    """Check whether on most hosts octets enter at other endpoints than they leave."""
    ends = max(int(steady.src.max()), int(steady.dst.max())) + 1
    leaves = np.bincount(steady.src, steady.volume, ends)
    enters = np.bincount(steady.dst, steady.volume, ends)
    one_way = np.abs(enters - leaves) > OPEN * (enters + leaves)
    return 2 * sum(bool(one_way[own].any()) for own in at.values()) > len(at)
