"""Find silent members of a job: endpoints without traffic, because their part of a ring or tree stays inside the host.

Hosts are allocated whole: a job has all GPUs of its hosts that send nothing. A library whose rings use few of the NICs of a
host leaves the others silent. Of a host that it shares, it has as many as of its other hosts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from prism.jobs.clusters import Members
from prism.topology import Topology


def silent_members(names: Sequence[str], members: Members, topology: Topology, busy: Collection[str]) -> tuple[str, ...]:
    """Return the endpoints on the hosts of `members` (codes of `names`) that belong to the same job and are not `busy`."""
    at: dict[str, set[str]] = defaultdict(set)
    for member in sorted(members):
        host = topology.host(names[member])
        if host is not None:
            at[host].add(names[member])
    width = max(map(len, at.values()), default=0)
    free = {
        host: [address for address in topology.at[host] if address not in own and address not in busy]
        for host, own in at.items()
    }
    if all(len(own) == width for own in at.values()) and 2 * sum(map(bool, free.values())) < len(free):
        return ()  # equal numbers speak, and most hosts have no more: those of the others belong to another job
    shared = {host for host, own in at.items() if not own.issuperset(set(topology.at[host]).intersection(busy))}
    return tuple(one for host, own in at.items() for one in free[host][: width - len(own) if host in shared else None])
