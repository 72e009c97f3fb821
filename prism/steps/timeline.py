"""Reconstruct the timeline of a job: its steps per rank, and spans of traffic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from collectors.columns.record import Codes, Flows
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import on_end
from prism.model import PHASES, Job, Parallelism, Spans, Stream, Timeline
from prism.steps.examined_traffic import Examined
from prism.steps.record_sequences import Ints, Mask, sequences_of
from prism.steps.step_bounds import rank_steps, steps_of
from prism.topology import Topology


def reconstruct(
    flows: Flows,
    job: Job,
    parallelism: Parallelism,
    *,
    records: Flows | None = None,
    of: Codes | None = None,
    examined: Examined | None = None,
    topology: Topology | None = None,
) -> Timeline:
    """Reconstruct the timeline of one job, without its events; empty if nothing repeats. Times in ns since the epoch.

    `flows`: records of the job, as numbered by the streams of `parallelism`. `records`: the records before they were condensed
    to `flows`; `of`: index of each of them in `flows`, −1 for others. `examined`: its repetition, if known. `topology`: hosts
    of the ranks; without it, only ranks of a group without traffic are known to share a host.
    """
    spans, reduces = _spans(flows, job, parallelism.streams), _reducing(flows, parallelism)
    if records is not None and of is not None:
        flows, reduces = records, np.where(of >= 0, reduces[of], False)
    members = flows.among(job.endpoints)
    rows = np.flatnonzero(members[flows.src] & members[flows.dst])
    sequences = sequences_of(flows, rows, reduces if parallelism.streams else None)
    found = steps_of(sequences, examined)
    if found is None:
        return Timeline(tuple(np.zeros((0, 2), np.int64) for _ in job.endpoints), (), spans)
    code = {address: i for i, address in enumerate(flows.endpoints)}
    together = parallelism.unseen if topology is None else _hosts(job, topology)
    hosts = [np.array([code[address] for address in own if address in code]) for own in together]
    by_endpoint = rank_steps(sequences, found, len(flows.endpoints), hosts)
    steps = {address: by_endpoint[code[address]] for address in job.endpoints if address in code}
    return Timeline(tuple(_of_ranks(job, steps, parallelism)), (), spans)


def _hosts(job: Job, topology: Topology) -> list[list[str]]:
    """Group the endpoints of a job by host; endpoints without a known host are not in the result."""
    at = defaultdict[str | None, list[str]](list)
    for address in job.endpoints:
        at[topology.host(address)].append(address)
    return [own for host, own in at.items() if host is not None]


def _of_ranks(job: Job, steps: dict[str, Ints], parallelism: Parallelism) -> Iterator[Ints]:
    """Yield the steps of each rank, if it has half of them at least; else those of the ranks for which it waits.

    These are the ranks of a group inside its host, whose traffic is not on the wire, then those of its other groups.
    """
    most = max((len(one) for one in steps.values()), default=0)
    kinds = [defaultdict[str, list[tuple[str, ...]]](list) for _ in range(2)]
    for groups, of in zip((parallelism.unseen, [group.members for group in parallelism.groups]), kinds, strict=True):
        for members in groups:
            for member in members:
                of[member].append(members)
    for address in job.endpoints:
        own = steps.get(address, np.zeros((0, 2), np.int64))
        for of in kinds:
            if 2 * len(own) < most:
                own = max([own, *(steps[m] for members in of[address] for m in members if m in steps)], key=len)
        yield own


def _reducing(flows: Flows, parallelism: Parallelism) -> Mask:
    """Select records that reduce gradients: those of data-parallel groups; all if only one kind is known."""
    kinds = {stream.kind for stream in parallelism.streams}
    out = np.full(len(flows), kinds in ({"dp"}, {"tp"}))
    for stream in parallelism.streams:
        if stream.kind == "dp":
            out[stream.rows] = True
    return out


def _spans(flows: Flows, job: Job, streams: Sequence[Stream]) -> Spans:
    """Return two spans per record, one for each end, with the phase of its stream."""
    start, rank = sending(flows), _ranks(flows, job)
    rows, begins = on_end([s.rows for s in streams])
    phase = np.repeat(np.array([PHASES.index(s.kind) for s in streams], np.int8), np.diff(begins))
    src, dst = rank.take(flows.src.take(rows)), rank.take(flows.dst.take(rows))
    octets = flows.octets.take(rows)
    return Spans(
        np.tile(start.take(rows), 2),
        np.tile(flows.end_ns.take(rows), 2),
        np.concatenate([src, dst]),
        np.tile(phase, 2),
        np.concatenate([dst, src]),
        np.concatenate([octets, -octets]),
    )


def _ranks(flows: Flows, job: Job) -> Codes:
    """Rank of each endpoint, −1 for endpoints of other jobs."""
    code = {address: i for i, address in enumerate(flows.endpoints)}
    rank = np.full(len(flows.endpoints), -1, np.int32)
    rank[[code[address] for address in job.endpoints]] = np.arange(len(job.endpoints), dtype=np.int32)
    return rank
