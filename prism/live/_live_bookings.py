"""Join tracked jobs with scheduler jobs, and end jobs whose hosts a scheduler gave to another job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from prism.inventory.bookings import Booking
from prism.inventory.job_matching import followed_by, joined
from prism.model import Job
from prism.topology import Topology
from prism.tracking.job_tracking import Followed, active_jobs, recently_ended, with_recognized


def named(
    jobs: Sequence[Followed],
    known: Mapping[str, Booking],
    listed: Sequence[Booking],
    topology: Topology | None,
    now_ns: int,
) -> tuple[tuple[Followed, ...], dict[str, Booking]]:
    """Return the jobs, and the booking of each by its id. `known`: bookings of the previous call; they stay assigned.

    A job has `ended` if its booking is over and another booking has its hosts now.
    """
    if not listed:
        return tuple(jobs), dict(known)
    newest = {(one.source, one.id): one for one in listed}
    stays = {id_: newest.get((one.source, one.id), one) for id_, one in known.items()}
    replaced_ids = {
        one.id for one in active_jobs(jobs) if one.id in stays and followed_by(stays[one.id], listed, now_ns) is not None
    }
    fixed = replaced_ids | {one.id for one in jobs if one.state == "ended" and one.id in stays}
    found = joined((_until_heard(one) for one in jobs if one.id not in fixed), listed, topology)
    ids = {one.id for one in jobs}
    out = tuple(replace(one, state="ended") if one.id in replaced_ids else one for one in jobs)
    return out, {id_: one for id_, one in ({**stays, **found}).items() if id_ in ids}


def _until_heard(one: Followed) -> Job:
    """Extend a job to its last activity."""
    return replace(one.job, end_ns=max(one.job.end_ns, one.talked_ns))


def with_seen(
    jobs: Sequence[Followed],
    seen: Sequence[Job],
    held: Collection[str],
    bookings: Mapping[str, Booking],
    now_ns: int,
    earliest_ns: dict[str, int],
) -> tuple[Followed, ...]:
    """Update the jobs with recognised ones; jobs that are `held` or have ended stay as they are.

    A job on the endpoints of an ended job is a new job; `earliest_ns` receives the earliest begin of its windows.
    """
    ended, kept = recently_ended(jobs), tuple(one for one in active_jobs(jobs) if one.id in held)
    members = {address for one in kept for address in one.job.endpoints}
    followed = [one for one in active_jobs(jobs) if one.id not in held]
    taken = tuple(one.id for one in (*kept, *ended))
    fresh = [job for job in seen if members.isdisjoint(job.endpoints)]
    every = (*ended, *kept, *with_recognized(followed, fresh, now_ns, taken=taken))
    earliest_ns |= beginnings(every, {one.id for one in (*followed, *kept)}, ended, bookings)
    return every


def beginnings(
    jobs: Iterable[Followed], known: Collection[str], ended: Iterable[Followed], bookings: Mapping[str, Booking]
) -> dict[str, int]:
    """Earliest begin of windows of new jobs (ids not in `known`), ns: after the jobs that had their endpoints."""
    ends: dict[str, int] = {}
    for one in ended:
        booking = bookings.get(one.id)
        end = min(one.talked_ns, booking.end_ns) if booking is not None and booking.end_ns else one.talked_ns
        ends |= {address: max(end, ends.get(address, 0)) for address in one.job.endpoints}
    out = {}
    for one in jobs:
        since = max((ends.get(address, 0) for address in one.job.endpoints), default=0)
        if one.state != "ended" and one.id not in known and since:
            out[one.id] = since + 1
    return out
