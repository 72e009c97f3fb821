"""Find silent members of jobs: endpoints without traffic, because their part of a ring or tree stays inside the host.

Hosts are allocated whole: a job has all GPUs of its hosts that send nothing. A library whose rings use few of the NICs of a
host leaves the others silent. Of a host that it shares, a job has as many as of its other hosts; if those are shared as well,
the job has the free ones that thereby has a power of two, if no other job would.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from prism.jobs.clusters import Members
from prism.topology import Topology


def silent_members(names: Sequence[str], jobs: Sequence[Members], topology: Topology, busy: Collection[str]) -> list[list[str]]:
    """Return the endpoints on the hosts of each job's members (codes of `names`) that belong to it and are not `busy`."""
    speaking = [_by_host(names, members, topology) for members in jobs]
    on = {host for at in speaking for host in at}
    used = {address for at in speaking for own in at.values() for address in own}.union(busy)
    free = {host: [address for address in topology.at[host] if address not in used] for host in on}
    out = list[list[str]]()
    for at in speaking:
        width, taken = max(map(len, at.values()), default=0), list[str]()
        others = [len(other[host]) for host in at for other in speaking if other is not at and host in other]
        few = all(len(own) == width for own in at.values()) and 2 * sum(bool(free[host]) for host in at) < len(at)
        for host, own in at.items():
            count = len(free[host])
            if not own.issuperset(set(topology.at[host]).intersection(used)):  # shared
                whole = _is_power(len(own) + count) and not any(_is_power(other + count) for other in others)
                count = max(width - len(own), count * (whole and bool(others)))
            elif few:  # equal numbers speak, and most hosts have no more: those of the others belong to another job
                count = 0
            taken += free[host][:count]
            free[host] = free[host][count:]
        out.append(taken)
    return out


def _is_power(number: int) -> bool:
    """Check whether a number is a power of two."""
    return number.bit_count() == 1


def _by_host(names: Sequence[str], members: Members, topology: Topology) -> dict[str, set[str]]:
    """Members on each host."""
    at: dict[str, set[str]] = defaultdict(set)
    for member in sorted(members):
        host = topology.host(names[member])
        if host is not None:
            at[host].add(names[member])
    return at
