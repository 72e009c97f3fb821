"""Analyse jobs that used the same endpoints one after another separately, each with the records of its own time.

Traffic alone cannot distinguish the end of a job from a pause of another. A scheduler can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from collectors.columns.record import Flows
from prism.inventory.bookings import Booking
from prism.inventory.job_matching import joined, short_host
from prism.model import Diagnosis, Finding, Job
from prism.topology import Topology
from prism.tracking.identity import distinct

MOST = 256  # bookings that are analysed separately
LAST = (1 << 63) - 1


def split_by_booking(flows: Flows, bookings: Sequence[Booking], topology: Topology | None) -> list[Flows]:
    """Split records: one part per booking that shares a host with an earlier or later one, then all others; no empty parts."""
    first, last = flows.window if len(flows) else (0, 0)
    inside = [one for one in bookings if one.start_ns <= last and (one.end_ns or LAST) > first]
    rest, parts = np.ones(len(flows), np.bool_), []
    names = np.array(flows.endpoints)
    for one in successive_bookings(inside)[:MOST]:
        own = np.isin(names, sorted(addresses(one, flows.endpoints, topology)))
        mine = rest & own[flows.src] & own[flows.dst]
        mine &= (flows.start_ns >= one.start_ns) & (flows.start_ns < (one.end_ns or LAST))
        if mine.any():
            parts.append(flows.take(np.flatnonzero(mine)))
            rest &= ~mine
    return [*parts, flows.take(np.flatnonzero(rest))] if parts and rest.any() else parts or [flows]


def successive_bookings(bookings: Sequence[Booking]) -> list[Booking]:
    """Return the bookings that share a host or address with another booking before or after them, in order of begin."""
    by_name: dict[str, list[Booking]] = {}
    for one in bookings:
        for name in {*one.endpoints, *map(short_host, one.hosts)}:
            by_name.setdefault(name, []).append(one)
    found: dict[tuple[str, str], Booking] = {}
    for own in by_name.values():
        own.sort(key=lambda one: one.start_ns)
        for before, after in pairwise(own):
            if before.end_ns and before.end_ns <= after.start_ns:
                found |= {(before.source, before.id): before, (after.source, after.id): after}
    return sorted(found.values(), key=lambda one: (one.start_ns, one.id))


def addresses(booking: Booking, endpoints: Sequence[str], topology: Topology | None) -> set[str]:
    """Return those of some endpoints that a booking has."""
    hosts = {short_host(host) for host in booking.hosts}
    placed = {address: topology.host(address) for address in endpoints} if topology is not None else {}
    return {
        a for a in endpoints if a in booking.endpoints or short_host(placed.get(a) or "") in hosts or short_host(a) in hosts
    }


def together(parts: Sequence[Diagnosis]) -> Diagnosis:
    """Join diagnoses of parts of the same records; a job of another time gets another id."""
    if len(parts) == 1:
        return parts[0]
    jobs = distinct([found.job for part in parts for found in part.jobs])
    new = iter(jobs)
    out, findings = [], list[Finding]()
    for part in parts:
        names = {}
        for found in part.jobs:
            job = next(new)
            names[found.job.id] = job.id
            out.append(replace(found, job=job))
        findings += [renamed(one, names.get(one.job, one.job)) for one in part.findings]
    words = dict.fromkeys(text for part in parts for text in part.unexplained)
    return replace(parts[0], jobs=tuple(out), findings=tuple(findings), unexplained=tuple(words))


def renamed(finding: Finding, job: str) -> Finding:
    """Assign a finding to a job's new id."""
    ids = tuple(job if one == finding.job else one for one in finding.ids) if finding.subject == "job" else finding.ids
    return replace(finding, job=job, ids=ids)


def named(jobs: Sequence[Job], bookings: Sequence[Booking], topology: Topology | None) -> tuple[Job, ...]:
    """Give jobs the names from schedulers; existing names stay."""
    known = joined(jobs, bookings, topology)
    return tuple(replace(job, name=known[job.id].title) if job.id in known and not job.name else job for job in jobs)


def diagnosed(
    flows: Flows, bookings: Sequence[Booking], topology: Topology | None, diagnose: Callable[[Flows], Diagnosis]
) -> Diagnosis:
    """Apply `diagnose` to the records of each booking's time separately, and name the jobs."""
    if not bookings:
        return diagnose(flows)
    found = together([diagnose(part) for part in split_by_booking(flows, bookings, topology)])
    jobs = named([one.job for one in found.jobs], bookings, topology)
    return replace(found, jobs=tuple(replace(one, job=job) for one, job in zip(found.jobs, jobs, strict=True)))
