"""Search jobs, users, queues, hosts, racks, addresses, switches and findings by one text.

Case is ignored. Exact matches come first, then prefixes, then other matches; among equals, jobs before findings before places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from prism.findings.titles import title
from prism.tracking.board import Board
from prism.views.board_views import Json

Kind = Literal["job", "finding", "user", "queue", "host", "rack", "endpoint", "switch", "link"]
KINDS: tuple[Kind, ...] = ("job", "finding", "user", "queue", "host", "rack", "endpoint", "switch", "link")
MAX_RELATED = 40  # jobs and findings per result


@dataclass(frozen=True)
class SearchItem:
    """A named item with its related `jobs`, `findings` and `endpoints`."""

    kind: Kind
    id: str
    title: str
    detail: str
    names: tuple[str, ...]
    jobs: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """Convert to plain values for REST."""
        own = {"type": self.kind, "id": self.id, "title": self.title, "detail": self.detail}
        lists = {"jobs": self.jobs, "findings": self.findings, "endpoints": self.endpoints}
        return own | {name: list(ids[:MAX_RELATED]) for name, ids in lists.items()}


def search(shown: Board, text: str, *, kind: Kind | None = None, limit: int = 20) -> list[Json]:
    """Find the best matches for a text; `kind` restricts them. Nothing for an empty text."""
    query = text.strip().casefold()
    found: list[tuple[int, int, str, SearchItem]] = []
    for thing in search_items(shown) if query else ():
        fit = min((_match_grade(query, name.casefold()) for name in thing.names if name), default=9)
        if fit < 9 and kind in (None, thing.kind):
            found.append((fit, KINDS.index(thing.kind), thing.id, thing))
    found.sort(key=lambda one: (one[0], one[1], len(one[2]), one[2]))
    return [thing.to_json() for *_, thing in found[:limit]]


def _match_grade(query: str, name: str) -> int:
    """Grade a match: 0 exact, 1 prefix, 2 prefix of a word, 3 part; 9 no match."""
    if query == name:
        return 0
    at = name.find(query)
    if at <= 0:
        return 1 if at == 0 else 9
    return 2 if not name[at - 1].isalnum() else 3


def search_items(shown: Board) -> Iterator[SearchItem]:
    """Yield all named items of a board."""
    yield from _jobs(shown)
    yield from _findings(shown)
    yield from _people(shown)
    yield from _places(shown)


def _jobs(shown: Board) -> Iterator[SearchItem]:
    own = _findings_by_job(shown)
    for status in shown.jobs:
        job, booking = status.found.job, shown.bookings.get(status.id)
        named = job.name or (booking.title if booking else "")
        of = f", {booking.user} in {booking.queue}" if booking and booking.user else ""
        detail = f"{status.state}, {len(job.endpoints)} ranks on {len(job.hosts)} hosts{of}"
        names = (job.id, job.name, *((booking.id, booking.name) if booking else ()))
        yield SearchItem("job", job.id, named or job.id, detail, names, (job.id,), own.get(job.id, ()))


def _findings_by_job(shown: Board) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for case in shown.cases:
        found[case.finding.job] = (*found.get(case.finding.job, ()), case.id)
    return found


def _findings(shown: Board) -> Iterator[SearchItem]:
    for case in shown.cases:
        finding = case.finding
        detail = f"{finding.severity.value}, {case.state}, job {finding.job}"
        named = title(finding, shown.topology)
        yield SearchItem("finding", case.id, named, detail, (case.id, named), (finding.job,), (case.id,))


def _people(shown: Board) -> Iterator[SearchItem]:
    """Yield users and queues of the jobs."""
    for kind, field in (("user", "user"), ("queue", "queue")):
        found: dict[str, list[str]] = {}
        for id_, booking in shown.bookings.items():
            found.setdefault(getattr(booking, field), []).append(id_)
        for name, ids in found.items():
            if name:
                yield SearchItem("user" if kind == "user" else "queue", name, name, _many(len(ids), "job"), (name,), tuple(ids))


def _places(shown: Board) -> Iterator[SearchItem]:
    """Yield endpoints, hosts, racks, switches and links of the topology and of the jobs."""
    places = dict(shown.topology.endpoints) if shown.topology else {}
    jobs: dict[str, list[str]] = {}
    for status in shown.jobs:
        for address in status.found.job.endpoints:
            jobs.setdefault(address, []).append(status.id)
    blamed: dict[str, list[str]] = {}
    for case in shown.cases:
        for name in case.finding.ids:
            blamed.setdefault(name, []).append(case.id)
    hosts: dict[tuple[Kind, str], list[str]] = {}
    for address in dict.fromkeys((*places, *jobs)):
        place = places.get(address)
        said = [f"{word} {value}" for word, value in (vars(place).items() if place else ()) if value is not None]
        yield SearchItem("endpoint", address, address, ", ".join(said), (address,), *_own([address], jobs, blamed), (address,))
        around: tuple[tuple[Kind, str | None], ...] = ()
        if place is not None:
            around = (("host", place.host), ("rack", place.rack), ("switch", place.leaf))
        for kind, part in around:
            if part:
                hosts.setdefault((kind, part), []).append(address)
    for name in shown.topology.switches() if shown.topology else ():
        hosts.setdefault(("switch", name), [])
    for (kind, name), own in hosts.items():
        yield SearchItem(kind, name, name, _many(len(own), "endpoint"), (name,), *_own([*own, name], jobs, blamed), tuple(own))
    for ends in shown.topology.links if shown.topology else ():
        found = tuple(case.id for case in shown.cases if case.finding.subject == "link" and set(case.finding.ids) == set(ends))
        yield SearchItem("link", "|".join(ends), " – ".join(ends), "link", (" – ".join(ends), "|".join(ends)), (), found)


def _own(names: list[str], jobs: dict[str, list[str]], blamed: dict[str, list[str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Collect jobs and findings of endpoints and of the places that contain them."""
    ids = dict.fromkeys(id_ for name in names for id_ in jobs.get(name, ()))
    return tuple(ids), tuple(dict.fromkeys(id_ for name in names for id_ in blamed.get(name, ())))


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"
