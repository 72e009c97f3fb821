"""Match jobs in the traffic with bookings of schedulers: by hosts, or addresses, and time.

Wrong if several jobs share hosts and the scheduler does not list their addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prism.inventory.bookings import Booking
from prism.model import Job
from prism.topology import Topology

MOSTLY = 0.5  # a booking matches with more than this share of the job's endpoints: of two disjoint bookings only one can


def joined(jobs: Iterable[Job], bookings: Sequence[Booking], topology: Topology | None) -> dict[str, Booking]:
    """Return the booking of each job, by the job's id; jobs without a booking are left out."""
    index = _Index(bookings)
    found = {job.id: index.of(job, topology) for job in jobs} if bookings else {}
    return {id_: booking for id_, booking in found.items() if booking is not None}


def booking_of(job: Job, bookings: Sequence[Booking], topology: Topology | None) -> Booking | None:
    """Return the booking of one job; None if none has most of its endpoints at its time."""
    return _Index(bookings).of(job, topology)


class _Index:
    """Index bookings by host and address, to match many jobs with many bookings."""

    def __init__(self, bookings: Sequence[Booking]) -> None:
        self._by_name: dict[str, list[Booking]] = {}
        for one in bookings:
            for name in (*one.endpoints, *dict.fromkeys(map(short_host, one.hosts))):
                self._by_name.setdefault(name, []).append(one)

    def of(self, job: Job, topology: Topology | None) -> Booking | None:
        """Return the booking with most of a job's endpoints; of several the one with the longest common time, then the
        smallest.
        """
        held: dict[tuple[str, str], tuple[Booking, int]] = {}
        for endpoint in job.endpoints:
            host = topology.host(endpoint) if topology is not None else None
            names = (endpoint, short_host(host)) if host else (endpoint,)
            for one in {(b.source, b.id): b for name in names for b in self._by_name.get(name, ())}.values():
                held[one.source, one.id] = one, held.get((one.source, one.id), (one, 0))[1] + 1
        fits = [(own, one) for one, own in held.values() if own > MOSTLY * len(job.endpoints) and shared_ns(job, one) > 0]
        return max(fits, key=lambda fit: (shared_ns(job, fit[1]), fit[0], -len(fit[1].hosts), fit[1].id), default=(0, None))[1]


def shared_ns(job: Job, booking: Booking) -> int:
    """Common time of both, ns; 1 for a job that was observed at one moment only."""
    end = min(job.end_ns, booking.end_ns or job.end_ns)
    return max(end - max(job.start_ns, booking.start_ns), 0) + int(booking.start_ns <= job.end_ns and end >= job.start_ns)


def followed_by(booking: Booking, bookings: Mapping[str, Booking] | Sequence[Booking], now_ns: int) -> Booking | None:
    """Return the booking that has the hosts of an ended one; None if there is none."""
    if not booking.end_ns or booking.end_ns > now_ns:
        return None
    every = bookings.values() if isinstance(bookings, Mapping) else bookings
    mine = {*booking.endpoints, *map(short_host, booking.hosts)}
    later = [
        one
        for one in every
        if booking.end_ns <= one.start_ns <= now_ns
        and (not one.end_ns or one.end_ns > now_ns)
        and not mine.isdisjoint((*one.endpoints, *map(short_host, one.hosts)))
    ]
    return max(later, key=lambda one: (one.start_ns, one.id), default=None)


def short_host(host: str) -> str:
    """Host name without its domain: schedulers and topologies use either. An address is unchanged."""
    first = host.partition(".")[0]
    return first.lower() if first and not first.isdigit() else host.lower()
