"""Recognise jobs in flow records.

Endpoints that keep exchanging payload are one cluster. Clusters that run in lockstep are one job, because what joins them
(tensor parallelism, or a ring's way through a host) is not on the wire. A job must repeat a program (`program.py`).

Source: LLMPrism (arXiv 2505.00342), section on job recognition; lockstep replaces its Jaccard similarity of hosts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.inventory.operator_hints import Hints, named
from prism.jobs.cluster_lockstep import in_lockstep, through_hosts
from prism.jobs.cluster_periods import beat_of
from prism.jobs.clusters import Members, clusters_of, homes, met_at_barriers, sampled, talk_of, unions
from prism.jobs.halo_exchange import only_exchanges
from prism.jobs.job_records import by_address, largest_first
from prism.jobs.packet_job_ids import by_job_id, main_job_ids
from prism.jobs.silent_members import silent_members
from prism.jobs.training_programs import verdict
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried
from prism.model import Job
from prism.topology import Topology

BRIEF = 20  # records of the life at least, of which the repetitions of a step are told; as many as `pair_volumes.BINS`


def recognize(
    flows: Flows,
    topology: Topology | None = None,
    *,
    window: tuple[int, int] | None = None,
    unproven: bool = False,
    hints: Hints | None = None,
) -> tuple[Job, ...]:
    """Jobs in `flows`, largest first. Too little traffic gives none.

    `window` is when the first and the last record of anybody was, ns, where `flows` are not all that was seen. With
    `unproven`, candidates that were seen for too few steps are jobs, too. `hints` name jobs and say which clusters are one job
    where lockstep is not clear.
    """
    talk, steady = talk_of(flows, topology)
    clusters = met_at_barriers(flows, clusters_of(steady, len(flows.endpoints)), window or flows.window)
    clusters = [members for members in by_job_id(flows, clusters) if len(members) > 1]
    if not clusters:
        return ()
    beats = [beat_of(edges) for edges in sampled(flows, steady, clusters)]
    host = _hosts(flows, topology) if topology is not None else None
    known = through_hosts(clusters, steady, host) if host is not None else []
    busy = {flows.endpoints[code] for code in np.unique(np.concatenate([steady.src, steady.dst])).tolist()}
    blurred = _blurred(flows)
    jobs = []
    owner = _numbered(flows, clusters) or (_owners(flows, clusters, hints) if hints is not None else None)
    for part in unions(len(clusters), in_lockstep(clusters, beats, host, known, owner)):
        own, beat = [clusters[i] for i in part], [beats[i] for i in part]
        found = verdict(own, beat, steady, host, len(flows.endpoints))
        if found != "other" and only_exchanges(flows, own, beat, steady):
            continue
        if found == "training" or (found == "unknown" and (unproven or blurred)):
            members = frozenset[int]().union(*own)
            silent = silent_members(flows.endpoints, members, beat, steady, topology, busy) if topology is not None else ()
            jobs.append(_job(flows, topology, members, silent, talk))
    return tuple(sorted((named(job, hints) for job in jobs) if hints else jobs, key=largest_first))


def _numbered(flows: Flows, clusters: Sequence[Members]) -> list[int] | None:
    """The job id that packets of each cluster carry, -1 where they carry none; None where there are not several ids."""
    mine = main_job_ids(flows)
    owners = [max(int(mine[list(members)].max()) - 1, -1) for members in clusters]
    return owners if len({own for own in owners if own >= 0}) > 1 else None


def _owners(flows: Flows, clusters: Sequence[Members], hints: Hints) -> list[int]:
    """The number of the hinted job that has all endpoints of a cluster, -1 where none has, for each cluster."""
    of = {address: i for i, one in enumerate(hints.jobs) for address in one.endpoints}
    owners = [{of.get(flows.endpoints[member], -1) for member in members} for members in clusters]
    return [own.pop() if len(own) == 1 else -1 for own in owners]


def _blurred(flows: Flows) -> bool:
    """Whether most octets are in records that cannot show steps: sampled ones, or sums over much of the time."""
    low, high = flows.window
    long = (flows.messages > 1) & (flows.end_ns - flows.start_ns > (high - low) / BRIEF)
    blurred = (flows.sampling_rate != 1) | long
    return 2 * int(flows.octets[blurred].sum()) > int(flows.octets.sum())


def _hosts(flows: Flows, topology: Topology) -> Ints:
    """A number for the host of each endpoint; -1 of those without one."""
    number: dict[str, int] = {}
    names = [topology.host(address) for address in flows.endpoints]
    return np.array([-1 if name is None else number.setdefault(name, len(number)) for name in names], np.int64)


def _job(flows: Flows, topology: Topology | None, members: Members, silent: tuple[str, ...], talk: Carried) -> Job:
    own = homes([members], len(flows.endpoints)) == 0
    inside = own[talk.src] & own[talk.dst]
    endpoints = tuple(sorted((*(flows.endpoints[code] for code in members), *silent), key=by_address))
    hosts = {topology.host(address) for address in endpoints} if topology is not None else set()
    return Job(
        id=hashlib.blake2s("\n".join(endpoints).encode(), digest_size=4).hexdigest(),
        endpoints=endpoints,
        hosts=tuple(sorted(host for host in hosts if host is not None)),
        start_ns=int(talk.first[inside].min()),
        end_ns=int(talk.last[inside].max()),
        silent=tuple(sorted(silent, key=by_address)),
    )
