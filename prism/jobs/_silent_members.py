"""Find silent members of a job: endpoints without traffic, because their part of a ring or tree stays inside the host.

Hosts are allocated whole: a job has all GPUs of its hosts that no other traffic uses. A library whose rings use few of the NICs
of a host leaves the others silent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from prism.jobs.clusters import Members
from prism.topology import Topology


def silent_members(names: Sequence[str], members: Members, topology: Topology, busy: Collection[str]) -> tuple[str, ...]:
    """Return the endpoints on the hosts of `members` (codes of `names`) that are not `busy`."""
    own = [names[member] for member in members]
    hosts = sorted({host for host in map(topology.host, own) if host is not None})
    speaking = {*own, *busy}
    return tuple(address for host in hosts for address in topology.at[host] if address not in speaking)
