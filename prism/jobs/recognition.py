"""Recognise jobs in flow records.

Endpoints that keep exchanging payload form a cluster. Clusters in lockstep form one job: what joins them (tensor parallelism,
or a ring's hop inside a host) is not on the wire. A job must repeat a training program (`training_programs`).

Source: LLMPrism (arXiv 2505.00342), section on job recognition; lockstep replaces its Jaccard similarity of hosts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.evidence.record_contents import with_bursts
from prism.inventory.operator_hints import Hints, named
from prism.jobs._cluster_lockstep import in_lockstep, through_hosts
from prism.jobs._packet_job_ids import by_job_id, main_job_ids
from prism.jobs._silent_members import silent_members
from prism.jobs._training_programs import classify
from prism.jobs.cluster_periods import ClusterRhythm
from prism.jobs.clusters import Members, cluster_numbers, clusters_of, join_by_barriers, pair_volumes, sampled_edges, unions
from prism.jobs.job_records import by_address, largest_first
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.pair_volumes import Carried
from prism.loops.constants import BINS as RECURRENCE_BINS
from prism.model import Job
from prism.topology import Topology


def recognize(
    flows: Flows,
    topology: Topology | None = None,
    *,
    window: tuple[int, int] | None = None,
    unproven: bool = False,
    hints: Hints | None = None,
) -> tuple[Job, ...]:
    """Recognise the jobs in `flows`, largest first. Too little traffic gives none.

    Parameters
    ----------
    flows : Flows
        Flow records, or part of them.
    topology : Topology, optional
        Hosts of the endpoints; other endpoints are ignored.
    window : (int, int), optional
        First and last time of all records, ns, if `flows` are only part of them.
    unproven : bool
        Also return candidates that were observed for too few steps.
    hints : Hints, optional
        Names of jobs, and clusters that belong to one job if lockstep is not clear.

    Returns
    -------
    tuple of Job
    """
    flows = with_bursts(flows)
    volumes, steady = pair_volumes(flows, topology)
    clusters = join_by_barriers(flows, steady, clusters_of(steady, len(flows.endpoints)), window or flows.window)
    clusters = [members for members in by_job_id(flows, clusters) if len(members) > 1]
    if not clusters:
        return ()
    rhythms = [ClusterRhythm(flows, edges) for edges in sampled_edges(flows, steady, clusters)]
    host = _hosts(flows, topology) if topology is not None else None
    known = through_hosts(clusters, steady, host) if host is not None else []
    busy = _busy(flows, steady)
    hides_steps = _hides_steps(flows)
    found = list[Members]()
    owner = _owners_by_job_id(flows, clusters) or (_owners_by_hint(flows, clusters, hints) if hints is not None else None)
    for part in unions(len(clusters), in_lockstep(clusters, rhythms, host, known, owner)):
        own, own_rhythms = [clusters[i] for i in part], [rhythms[i] for i in part]
        verdict = classify(own, own_rhythms, steady, host, len(flows.endpoints))
        if verdict == "training" or (verdict == "unknown" and (unproven or hides_steps)):
            found.append(frozenset[int]().union(*own))
    silent = silent_members(flows.endpoints, found, topology, busy) if topology is not None else [list[str]() for _ in found]
    jobs = [_job(flows, topology, members, hidden, volumes) for members, hidden in zip(found, silent, strict=True)]
    return tuple(sorted((named(job, hints) for job in jobs) if hints else jobs, key=largest_first))


def _busy(flows: Flows, steady: Carried) -> set[str]:
    """Return the endpoints with lasting traffic: ranks that are silent in steps may take part in a broadcast before them."""
    low, high = flows.window
    lasting = steady.last - steady.first > (high - low) / RECURRENCE_BINS
    return {flows.endpoints[code] for code in np.unique(np.stack([steady.src, steady.dst])[:, lasting]).tolist()}


def _owners_by_job_id(flows: Flows, clusters: Sequence[Members]) -> list[int] | None:
    """Job id of each cluster's packets, numbered, −1 without one; None if there are fewer than two ids."""
    job_ids = main_job_ids(flows)
    job_numbers = [max(int(job_ids[list(members)].max()) - 1, -1) for members in clusters]
    return job_numbers if len({own for own in job_numbers if own >= 0}) > 1 else None


def _owners_by_hint(flows: Flows, clusters: Sequence[Members], hints: Hints) -> list[int]:
    """Number of the hinted job that has all endpoints of a cluster, −1 if none, for each cluster."""
    of = {address: i for i, one in enumerate(hints.jobs) for address in one.endpoints}
    job_numbers = [{of.get(flows.endpoints[member], -1) for member in members} for members in clusters]
    return [own.pop() if len(own) == 1 else -1 for own in job_numbers]


def _hides_steps(flows: Flows) -> bool:
    """Check whether most octets are in records that cannot show steps: sampled records, or records over much of the time."""
    low, high = flows.window
    long = (flows.messages > 1) & (flows.end_ns - flows.start_ns > (high - low) / RECURRENCE_BINS)
    hides_steps = (flows.sampling_rate != 1) | long
    return 2 * int(flows.octets[hides_steps].sum()) > int(flows.octets.sum())


def _hosts(flows: Flows, topology: Topology) -> Ints:
    """Number of the host of each endpoint, −1 if unknown."""
    number: dict[str, int] = {}
    names = [topology.host(address) for address in flows.endpoints]
    return np.array([-1 if name is None else number.setdefault(name, len(number)) for name in names], np.int64)


def _job(flows: Flows, topology: Topology | None, members: Members, silent: Sequence[str], volumes: Carried) -> Job:
    own = cluster_numbers([members], len(flows.endpoints)) == 0
    inside = own[volumes.src] & own[volumes.dst]
    endpoints = tuple(sorted((*(flows.endpoints[code] for code in members), *silent), key=by_address))
    hosts = {topology.host(address) for address in endpoints} if topology is not None else set()
    return Job(
        id=hashlib.blake2s("\n".join(endpoints).encode(), digest_size=4).hexdigest(),
        endpoints=endpoints,
        hosts=tuple(sorted(host for host in hosts if host is not None)),
        start_ns=int(volumes.first[inside].min()),
        end_ns=int(volumes.last[inside].max()),
        silent=tuple(sorted(silent, key=by_address)),
    )
