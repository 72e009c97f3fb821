"""Join jobs that are followed live to what schedulers say, and end those whose hosts have been given to another booking."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from prism.inventory.bookings import Booking
from prism.inventory.job_matching import followed_by, joined
from prism.model import Job
from prism.topology import Topology
from prism.tracking.job_tracking import Followed, going, known_as, over_lately


def named(
    jobs: Sequence[Followed],
    known: Mapping[str, Booking],
    listed: Sequence[Booking],
    topology: Topology | None,
    now_ns: int,
) -> tuple[tuple[Followed, ...], dict[str, Booking]]:
    """The jobs, and the booking of each by its id. `known` are those from the look before: what they were, they stay.

    A job whose booking is over, and whose hosts another booking has now, has `ended`.
    """
    if not listed:
        return tuple(jobs), dict(known)
    newest = {(one.source, one.id): one for one in listed}
    stays = {id_: newest.get((one.source, one.id), one) for id_, one in known.items()}
    turned = {one.id for one in going(jobs) if one.id in stays and followed_by(stays[one.id], listed, now_ns) is not None}
    fixed = turned | {one.id for one in jobs if one.state == "ended" and one.id in stays}
    found = joined((_until_heard(one) for one in jobs if one.id not in fixed), listed, topology)
    ids = {one.id for one in jobs}
    out = tuple(replace(one, state="ended") if one.id in turned else one for one in jobs)
    return out, {id_: one for id_, one in ({**stays, **found}).items() if id_ in ids}


def _until_heard(one: Followed) -> Job:
    """A job up to when it was heard last."""
    return replace(one.job, end_ns=max(one.job.end_ns, one.talked_ns))


def met(
    jobs: Sequence[Followed],
    seen: Sequence[Job],
    held: Collection[str],
    bookings: Mapping[str, Booking],
    now_ns: int,
    anew_ns: dict[str, int],
) -> tuple[Followed, ...]:
    """The jobs after a look that has `seen` some; those that are `held` or have ended stay as they are.

    Who has the endpoints of a job that has ended is another job; `anew_ns` is told when its windows begin at the earliest.
    """
    over, kept = over_lately(jobs), tuple(one for one in going(jobs) if one.id in held)
    members = {address for one in kept for address in one.job.endpoints}
    followed = [one for one in going(jobs) if one.id not in held]
    taken = tuple(one.id for one in (*kept, *over))
    fresh = [job for job in seen if members.isdisjoint(job.endpoints)]
    every = (*over, *kept, *known_as(followed, fresh, now_ns, taken=taken))
    anew_ns |= beginnings(every, {one.id for one in (*followed, *kept)}, over, bookings)
    return every


def beginnings(
    jobs: Iterable[Followed], known: Collection[str], over: Iterable[Followed], bookings: Mapping[str, Booking]
) -> dict[str, int]:
    """When windows of new jobs (none of the ids `known`) begin at the earliest, ns: after the jobs that had their endpoints."""
    ends: dict[str, int] = {}
    for one in over:
        booking = bookings.get(one.id)
        end = min(one.talked_ns, booking.end_ns) if booking is not None and booking.end_ns else one.talked_ns
        ends |= {address: max(end, ends.get(address, 0)) for address in one.job.endpoints}
    out = {}
    for one in jobs:
        since = max((ends.get(address, 0) for address in one.job.endpoints), default=0)
        if one.state != "ended" and one.id not in known and since:
            out[one.id] = since + 1
    return out
