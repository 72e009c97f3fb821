"""The timeline of a job: its steps per rank, and spans of traffic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from collectors.columns.record import Codes, Flows
from prism.loops.arrays.edges import sending
from prism.model import PHASES, Job, Parallelism, Spans, Stream, Timeline
from prism.steps.record_sequences import Ints, Mask, sequences_of
from prism.steps.step_bounds import rank_steps, steps_of


def reconstruct(
    flows: Flows, job: Job, parallelism: Parallelism, *, records: Flows | None = None, of: Codes | None = None
) -> Timeline:
    """The timeline of one job, without its events; `flows` holds its records, as the streams of `parallelism` number them.

    `records` are those that the job's flows were condensed from, if they were, and `of` the place of each in `flows`, −1 of
    others: messages are counted.
    """
    spans, reduces = _spans(flows, job, parallelism.streams), _reducing(flows, parallelism)
    if records is not None and of is not None:
        flows, reduces = records, np.where(of >= 0, reduces[of], False)
    members = flows.among(job.endpoints)
    rows = np.flatnonzero(members[flows.src] & members[flows.dst])
    sequences = sequences_of(flows, rows, reduces if parallelism.streams else None)
    found = steps_of(sequences)
    if found is None:
        return Timeline(tuple(np.zeros((0, 2), np.int64) for _ in job.endpoints), (), spans)
    code = {address: i for i, address in enumerate(flows.endpoints)}
    every = rank_steps(sequences, found, len(flows.endpoints))
    steps = {address: every[code[address]] for address in job.endpoints if address in code}
    return Timeline(tuple(_of_ranks(job, steps, parallelism)), (), spans)


def _of_ranks(job: Job, steps: dict[str, Ints], parallelism: Parallelism) -> Iterator[Ints]:
    """The steps of each rank, if it is seen in half of them at least; else those of the ranks that it waits for.

    These are the ranks of a group inside its host, where nobody sees it send, then those of its other groups.
    """
    most = max((len(one) for one in steps.values()), default=0)
    for address in job.endpoints:
        own = steps.get(address, np.zeros((0, 2), np.int64))
        for groups in (parallelism.unseen, tuple(group.members for group in parallelism.groups)):
            if 2 * len(own) < most:
                mates = [steps[m] for group in groups if address in group for m in group if m in steps]
                own = max([own, *mates], key=len)
        yield own


def _reducing(flows: Flows, parallelism: Parallelism) -> Mask:
    """Which records reduce gradients: those of data-parallel groups; all where only one kind is known."""
    kinds = {stream.kind for stream in parallelism.streams}
    out = np.full(len(flows), kinds in ({"dp"}, {"tp"}))
    for stream in parallelism.streams:
        if stream.kind == "dp":
            out[stream.rows] = True
    return out


def _spans(flows: Flows, job: Job, streams: Sequence[Stream]) -> Spans:
    """One span per record and end of it, with the phase its stream stands for."""
    start, rank = sending(flows), _ranks(flows, job)
    parts = [(s.rows, PHASES.index(s.kind)) for s in streams]
    rows = np.concatenate([r for r, _ in parts]) if parts else np.zeros(0, np.intp)
    phase = np.concatenate([np.full(len(r), p, np.int8) for r, p in parts]) if parts else np.zeros(0, np.int8)
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
    """The rank of each endpoint, −1 for those of others."""
    code = {address: i for i, address in enumerate(flows.endpoints)}
    rank = np.full(len(flows.endpoints), -1, np.int32)
    rank[[code[address] for address in job.endpoints]] = np.arange(len(job.endpoints), dtype=np.int32)
    return rank
