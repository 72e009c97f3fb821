"""Select the records of a job, and order jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.loops.arrays.edges import sending
from prism.loops.arrays.orders import in_order
from prism.model import Job


def largest_first(job: Job) -> tuple[int, int, tuple[str, ...]]:
    """Sort key of jobs: largest first."""
    return -len(job.endpoints), job.start_ns, job.endpoints


def by_address(address: str) -> tuple[int, ...]:
    """Sort key of addresses: 10.0.0.2 before 10.0.0.10."""
    parts = address.replace(":", ".").split(".")
    return tuple(int(part, 16) if ":" in address else int(part) for part in parts if part)


def around(flows: Flows, job: Job) -> Flows:
    """Select the records with at least one end in a job, in the same order."""
    members = flows.among(job.endpoints)
    inside = members if members.all() else members.take(flows.src) | members.take(flows.dst)
    return (flows if inside.all() else flows.take(np.flatnonzero(inside))).narrowed()


def naming(flows: Flows, job: Job) -> Flows:
    """Add every member of a job to the records' endpoint dictionary, also members without records."""
    known = set(flows.endpoints)
    silent = tuple(address for address in job.endpoints if address not in known)
    return replace(flows, endpoints=(*flows.endpoints, *silent)) if silent else flows


def rows_of(flows: Flows, job: Job) -> NDArray[np.intp]:
    """Indices of the records between two endpoints of a job, in order of sending."""
    members = flows.among(job.endpoints)
    rows = np.flatnonzero(members[flows.src] & members[flows.dst])
    return rows[in_order(sending(flows)[rows])]
