"""Tell training from benchmarks of collectives, which repeat them without any time to compute between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.jobs import constants as c
from prism.model import Phases, shares


def only_transfers(records: Flows, worked: Phases, ranks: Sequence[str]) -> bool:
    """Whether each rank, or the whole job, hardly ever rests from its transfers: a benchmark of collectives, and no training.

    Only records of one message, or that were busy for most of their time, show that: a sum over a second hides rests within it.
    A job that is silent for longer than a transfer takes does rest.
    """
    busy = (records.messages <= 1) | (2 * records.busy_ns >= records.end_ns - records.start_ns)
    if 2 * float(records.octets[busy].sum()) < float(records.octets.sum()):
        return False
    part = shares(worked.by_rank(len(ranks)).sum(axis=0))
    moving = sum(part.get(phase, 0.0) for phase in ("pp", "dp", "tp", "ep", "cp", "unknown"))
    inside = records.among(ranks)
    own = np.flatnonzero(inside[records.src] & inside[records.dst] & ~records.control())
    own = own[np.argsort(records.start_ns[own])]
    start, until = records.start_ns[own], np.maximum.accumulate(records.end_ns[own])
    silent = np.maximum(start[1:] - until[:-1], 0)
    rests, least = silent[silent > np.median(records.end_ns[own] - start)], c.LEAST_COMPUTE * float(until[-1] - start[0])
    return float(silent.sum()) < least or (moving > 1 - c.LEAST_COMPUTE and float(rests.sum()) < least)
