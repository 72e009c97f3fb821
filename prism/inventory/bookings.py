"""Parse scheduler jobs (bookings): name, user, queue, hosts, and begin.

The neutral form is a JSON or YAML document: `{"jobs": [{"id": "4711", "name": "llama-70b", "user": "ada", "queue": "gpu",
"hosts": ["server0", "server1"], "endpoints": ["10.0.0.1"], "start": "2026-11-20T22:42:00Z", "end": null}]}`. Each job needs an
id or a name, and hosts or endpoints. `hosts` may be a host list of Slurm. The caller reads the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from collectors.files.documents import load_json, load_yaml
from prism.inventory import kubernetes, slurm
from prism.inventory.host_lists import expanded
from prism.inventory.operator_hints import check_keys
from prism.topology import is_name, normal_address, shown

MOST = 50_000  # maximum jobs of a document
LONGEST = 200  # maximum characters of a name
FIELDS = ("id", "name", "user", "queue", "hosts", "endpoints", "start", "end")


@dataclass(frozen=True)
class Booking:
    """A job of a scheduler. `hosts` and `endpoints`: its resources. `end_ns` is 0 while it runs; `start_ns` is 0 if unknown.

    `source`: name of the scheduler. Within one source, an id identifies one job.
    """

    id: str
    name: str = ""
    user: str = ""
    queue: str = ""
    hosts: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    start_ns: int = 0
    end_ns: int = 0
    source: str = ""

    @property
    def title(self) -> str:
        """Name for users."""
        return self.name or self.id


def parse(text: str, name: str) -> tuple[Booking, ...]:
    """Parse bookings of Slurm (`scontrol show job --json`, `squeue --json`, REST), of Kubernetes (a list of pods), or of
    the neutral form; the content decides. `name` is the file, for errors. Raises ValueError, one line with file and
    position.
    """
    text = text.removeprefix("\ufeff")
    is_json = name.lower().endswith(".json") or text.lstrip().startswith("{")
    document = load_json(text, name) if is_json else load_yaml(text, name)
    if not isinstance(document, dict):
        raise ValueError(f"{name}: must be an object, not {shown(document)}")
    if kubernetes.is_pods(document):
        return tuple(Booking(**fields, source="kubernetes") for fields in kubernetes.jobs(document, name))
    if slurm.is_jobs(document):
        return tuple(Booking(**fields, source="slurm") for fields in slurm.jobs(document, name))
    return tuple(_neutral(document, name))


def _neutral(document: Mapping[str, Any], name: str) -> Iterable[Booking]:
    check_keys(document, name, ("jobs",))
    rows = document.get("jobs")
    if not isinstance(rows, list):
        raise ValueError(f'{name}: "jobs" must be a list, not {shown(rows)}')
    if len(rows) > MOST:
        raise ValueError(f"{name}: {len(rows):,} jobs, at most {MOST:,}")
    seen: dict[str, str] = {}
    for i, row in enumerate(rows):
        where = f"{name}: jobs[{i}]"
        check_keys(row, where, FIELDS)
        texts = {key: _text(row.get(key), f"{where}.{key}") for key in ("id", "name", "user", "queue")}
        texts["id"] = texts["id"] or texts["name"]
        if not texts["id"]:
            raise ValueError(f'{where}: needs an "id" or a "name"')
        if seen.setdefault(texts["id"], where) != where:
            raise ValueError(f"{where}: the id {texts['id']!r} is that of {seen[texts['id']]}, too")
        hosts, endpoints = _hosts(row.get("hosts"), f"{where}.hosts"), _endpoints(row.get("endpoints"), f"{where}.endpoints")
        if not hosts and not endpoints:
            raise ValueError(f'{where}: needs "hosts" or "endpoints": without them the job cannot be identified')
        start, end = (moment(row.get(key), f"{where}.{key}") for key in ("start", "end"))
        if end and end <= start:
            raise ValueError(f"{where}: ends before it starts")
        yield Booking(**texts, hosts=hosts, endpoints=endpoints, start_ns=start, end_ns=end, source="file")


def _text(value: Any, where: str) -> str:
    if value in (None, ""):
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not is_name(value) or len(value) > LONGEST:
        raise ValueError(f"{where}: must be a name of at most {LONGEST} characters, not {shown(value)}")
    return value


def _hosts(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return expanded(value, where)
    return tuple(dict.fromkeys(_text(one, at) for at, one in _listed(value, where)))


def _endpoints(value: Any, where: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(normal_address(one, at) for at, one in _listed(value, where)))


def _listed(value: Any, where: str) -> list[tuple[str, Any]]:
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise ValueError(f"{where}: must be a list, not {shown(value)}")
    return [(f"{where}[{i}]", one) for i, one in enumerate(value)]


def moment(value: Any, context: str) -> int:
    """Parse a time, ns: RFC 3339 text or seconds since the epoch; 0 if none is given. Raises ValueError."""
    if value in (None, "", 0, "0", "null"):
        return 0
    try:
        if isinstance(value, str) and not value.isdigit():
            found = datetime.fromisoformat(value)
            seconds = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        else:
            seconds = float(value) if not isinstance(value, bool) else -1.0
        if not 0 <= seconds < 2**33:
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{context}: must be a time such as 2026-11-20T22:42:00Z, not {shown(value)}") from None
    return round(seconds * 1e6) * 1000


def merged(
    earlier: Sequence[Booking], newest: Sequence[Booking], now_ns: int, *, max_bookings: int = MOST
) -> tuple[Booking, ...]:
    """Merge earlier and new bookings of a source: jobs that are no longer listed have ended; keep the newest `max_bookings`."""
    listed = {one.id for one in newest}
    ended = [
        one if one.end_ns else replace(one, end_ns=max(now_ns, one.start_ns + 1)) for one in earlier if one.id not in listed
    ]
    every = sorted([*ended, *newest], key=lambda one: (one.end_ns == 0, one.start_ns, one.id))
    return tuple(every[-max_bookings:])
