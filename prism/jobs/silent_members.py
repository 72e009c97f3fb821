"""Members of a job that never speak on the wire: their part of a ring or tree stays inside the host.

Two kinds of evidence. Hosts of a job give it equally many GPUs, so a host at which fewer speak has silent ones. A ring that
enters a host at one endpoint and leaves it at another passes the GPUs between; the number of messages in a step then tells
how many ranks the ring has: a multiple of n - 1, or of n where a library sends the own block too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from prism.jobs import constants as c
from prism.jobs.cluster_periods import Beat
from prism.jobs.clusters import Members
from prism.loops.arrays.pair_volumes import Carried
from prism.topology import Topology


def silent_members(
    names: Sequence[str],
    members: Members,
    beats: Sequence[Beat],
    steady: Carried,
    topology: Topology,
    busy: Collection[str],
) -> tuple[str, ...]:
    """Those of the endpoints at the hosts of `members` (codes into `names`) that belong to the same job, and are not `busy`."""
    at: dict[str, list[int]] = defaultdict(list)
    for member in members:
        host = topology.host(names[member])
        if host is not None:
            at[host].append(member)
    speaking = {names[member] for member in members}.union(busy)
    free = {host: [address for address in topology.at[host] if address not in speaking] for host in at}
    rest = [address for own in free.values() for address in own]
    if not rest:
        return ()
    width = max(map(len, at.values()))
    rails = {topology.rail(names[member]) for member in members}
    missing = [
        address
        for host, own in at.items()
        for address in [one for one in free[host] if topology.rail(one) in rails][: width - len(own)]
    ]
    if missing and c.MIN_STEPS * len(missing) <= len(members):
        return tuple(missing)
    if not _passes_through(at, steady):
        return ()
    return tuple(rest) if _rounds_fit(beats, len(members) + len(rest)) >= _rounds_fit(beats, len(members)) else ()


def _passes_through(at: Mapping[str, list[int]], steady: Carried) -> bool:
    """Whether at most hosts octets enter at other endpoints than they leave."""
    ends = max(int(steady.src.max()), int(steady.dst.max())) + 1
    leaves = np.bincount(steady.src, steady.volume, ends)
    enters = np.bincount(steady.dst, steady.volume, ends)
    one_way = np.abs(enters - leaves) > c.OPEN * (enters + leaves)
    return 2 * sum(bool(one_way[own].any()) for own in at.values()) > len(at)


def _rounds_fit(beats: Sequence[Beat], ranks: int) -> int:
    """On how many edges the number of messages in a step suits a ring of so many ranks."""
    fits = 0
    for beat in beats:
        for edge in beat.edges if len(beat.marks) > c.MIN_STEPS else ():
            counts = np.diff(np.searchsorted(edge.start, beat.marks))
            usual = int(np.median(counts))
            fits += usual > 0 and (usual % max(ranks - 1, 1) == 0 or usual % ranks == 0)
    return fits
