"""Read bookings periodically: files, and the interfaces of Slurm and Kubernetes.

A settings file lists them: `{"sources": [{"kind": "slurm", "url": "http://slurm:6820", "user": "prism", "token": {"file":
"slurm.jwt"}}, {"kind": "kubernetes"}, {"kind": "file", "file": "jobs.json"}]}`. A token is text, {file: NAME} or {env: NAME}.
Without a url, Kubernetes is the cluster in which this process runs.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from collectors.files.documents import load_json, load_yaml
from collectors.operations.logs import log_event
from collectors.operations.metrics import Count, keyed
from prism.inventory.bookings import Booking, merged, parse
from prism.topology import shown

Kind = Literal["file", "slurm", "kubernetes"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FIELDS = ("name", "kind", "file", "url", "user", "token", "ca_file", "version", "every_s", "selector")
BIGGEST = 256 << 20  # octets of a document: 10,000 pods have some 100 MiB
IN_CLUSTER = "/var/run/secrets/kubernetes.io/serviceaccount"
TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Origin:
    """A source of bookings. `secret` returns the token when it is needed, because the file may change."""

    name: str
    kind: Kind
    where: str
    user: str = ""
    secret: Callable[[], str] = str
    ca_file: str = ""
    every_s: float = 30.0

    @property
    def public_url(self) -> str:
        """Its address without secrets, for messages."""
        return self.where.partition("?")[0]


def origins(paths: Sequence[str]) -> tuple[Origin, ...]:
    """Read the sources that files list; a file of bookings is a source itself. Raises ValueError with file and place,
    OSError.
    """
    found: list[Origin] = []
    for path in paths:
        text = _text(path)
        listed = _sources(text, path)
        if listed is None:
            parse(text, path)  # an error at the start is fatal; later errors are counted
            found.append(Origin(Path(path).stem, "file", path, every_s=2.0))
        else:
            found += [_origin(one, f"{path}: sources[{i}]", Path(path).parent) for i, one in enumerate(listed)]
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{', '.join(paths)}: two sources are named {twice!r}; give each a name of its own")
    return tuple(found)


def once(paths: Sequence[str]) -> tuple[Booking, ...]:
    """Read the bookings of files once. Raises ValueError, OSError."""
    return tuple(booking for one in origins(paths) for booking in fetched(one))


def _sources(text: str, path: str) -> list[Any] | None:
    """Return the list of a settings file; None if the file holds bookings itself."""
    if "sources" not in text[:100_000]:
        return None
    document = load_json(text, path) if text.lstrip().startswith("{") else load_yaml(text, path)
    if not isinstance(document, dict) or "sources" not in document:
        return None
    if set(document) != {"sources"} or not isinstance(document["sources"], list):
        raise ValueError(f'{path}: must hold "sources", a list, and nothing else')
    return list(document["sources"])


def _origin(value: Any, where: str, folder: Path) -> Origin:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be an object, not {shown(value)}")
    stray = next((key for key in value if key not in FIELDS), None)
    if stray is not None:
        raise ValueError(f"{where}: unknown key {stray!r}; known keys: {', '.join(FIELDS)}")
    kind = value.get("kind")
    if kind not in KINDS:
        raise ValueError(f"{where}.kind: must be one of {', '.join(KINDS)}, not {shown(kind)}")
    texts = {key: str(value.get(key) or "") for key in ("name", "file", "url", "user", "ca_file", "version", "selector")}
    try:
        every = float(value.get("every_s") or 30.0)
    except (TypeError, ValueError):
        every = 0.0
    if not 1 <= every <= 86_400:
        raise ValueError(f"{where}.every_s: must be a number of seconds from 1 to 86400")
    name = texts["name"] or kind
    if kind == "file":
        if not texts["file"]:
            raise ValueError(f'{where}: kind file needs "file"')
        return Origin(name, kind, str(folder / texts["file"]), every_s=every)
    url, token = texts["url"].rstrip("/"), value.get("token")
    ca_file = str(folder / texts["ca_file"]) if texts["ca_file"] else ""
    if kind == "kubernetes" and not url:
        url, token = "https://kubernetes.default.svc", token or {"file": f"{IN_CLUSTER}/token"}
        ca_file = ca_file or f"{IN_CLUSTER}/ca.crt"
    if not url.startswith(("http://", "https://")) or "@" in url:
        raise ValueError(f"{where}.url: must be http://… or https://…, without a user or password")
    secret = _secret(token, f"{where}.token", folder)
    path = f"/slurm/{texts['version'] or 'v0.0.41'}/jobs" if kind == "slurm" else "/api/v1/pods"
    query = f"?labelSelector={texts['selector']}" if kind == "kubernetes" and texts["selector"] else ""
    return Origin(name, kind, url + path + query, texts["user"], secret, ca_file, every)


def _secret(value: Any, where: str, folder: Path) -> Callable[[], str]:
    """Return a function that reads a token; the token is never shown. Raises ValueError if `value` cannot be one."""
    if value is None:
        return str
    if isinstance(value, str) and value:
        return lambda: value
    if isinstance(value, dict) and set(value) == {"file"} and isinstance(value["file"], str):
        path = folder / value["file"]
        return lambda: path.read_text("utf-8").strip()
    if isinstance(value, dict) and set(value) == {"env"} and value["env"] in os.environ:
        return lambda: os.environ.get(value["env"], "").strip()
    raise ValueError(f"{where}: must be text, {{file: NAME}} or {{env: NAME}} of a variable that is set")


def fetched(origin: Origin) -> tuple[Booking, ...]:
    """Read the bookings of a source. Raises ValueError, OSError; their messages hold no secret."""
    text = _text(origin.where) if origin.kind == "file" else _requested(origin)
    try:
        found = parse(
            text, origin.public_url if origin.kind == "file" or text.lstrip()[:1] != "{" else f"{origin.public_url}.json"
        )
    except ValueError as error:
        raise ValueError(str(error)[:500]) from None
    return tuple(replace(one, source=origin.name) for one in found)


def _requested(origin: Origin) -> str:
    """Send the request to a source and return the answer. Raises OSError, ValueError."""
    import httpx

    token = origin.secret()
    headers = {"Accept": "application/json"}
    if token:
        headers |= {"Authorization": f"Bearer {token}"} if origin.kind == "kubernetes" else {"X-SLURM-USER-TOKEN": token}
    if origin.user:
        headers["X-SLURM-USER-NAME"] = origin.user
    try:
        with (
            httpx.Client(timeout=TIMEOUT_S, verify=_context(origin.ca_file), trust_env=False) as client,
            client.stream("GET", origin.where, headers=headers) as answer,
        ):
            if answer.status_code != 200:
                raise OSError(f"{origin.public_url}: HTTP {answer.status_code}")
            octets = bytearray()
            for piece in answer.iter_bytes():
                octets += piece
                if len(octets) > BIGGEST:
                    raise ValueError(f"{origin.public_url}: the answer is larger than {BIGGEST >> 20} MiB")
    except httpx.HTTPError as error:
        raise OSError(f"{origin.public_url}: {type(error).__name__}") from None
    return octets.decode("utf-8", "replace")


def _context(ca_file: str) -> Any:
    import ssl

    return ssl.create_default_context(cafile=ca_file or None)


def _text(path: str) -> str:
    """Read a file as text. Raises ValueError, OSError."""
    with open(path, "rb") as file:
        octets = file.read(BIGGEST + 1)
    if len(octets) > BIGGEST:
        raise ValueError(f"{path}: larger than {BIGGEST >> 20} MiB")
    try:
        return octets.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: octet {error.start} is not UTF-8; save it as UTF-8 text") from None


class Names:
    """Bookings of all sources; a thread updates them within the context `running`."""

    def __init__(self, sources: Sequence[Origin], *, clock: Callable[[], int] = time.time_ns) -> None:
        self._origins, self._clock = tuple(sources), clock
        self._known: dict[str, tuple[Booking, ...]] = {}
        self._due = dict.fromkeys((one.name for one in sources), 0.0)
        self._ok: dict[str, str] = {}  # by source: empty, or the error
        self._failed = dict.fromkeys((one.name for one in sources), 0)

    def bookings(self) -> tuple[Booking, ...]:
        """Return all bookings. Thread-safe."""
        return tuple(booking for own in tuple(self._known.values()) for booking in own)

    def restore(self, bookings: Sequence[Booking]) -> None:
        """Restore bookings from before a restart."""
        for one in self._origins:
            self._known[one.name] = tuple(booking for booking in bookings if booking.source == one.name)

    def turn(self, now_s: float) -> None:
        """Read the sources that are due. After an error the old bookings remain; errors are counted and shown."""
        for one in self._origins:
            if now_s < self._due[one.name]:
                continue
            self._due[one.name] = now_s + one.every_s
            try:
                newest = fetched(one)
            except (OSError, ValueError) as error:
                text = str(error)
                if self._ok.get(one.name) != text:
                    log_event("scheduler not read, trying again", level=logging.WARNING, source=one.name, error=text)
                self._ok[one.name] = text
                self._failed[one.name] += 1
                continue
            self._ok[one.name] = ""
            self._known[one.name] = merged(self._known.get(one.name, ()), newest, self._clock())

    @contextmanager
    def running(self) -> Iterator[None]:
        """Update the bookings within the context."""
        stop = threading.Event()

        def run() -> None:
            while not stop.is_set():
                self.turn(time.monotonic())
                stop.wait(1.0)

        thread = threading.Thread(target=run, name="prism-names", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(TIMEOUT_S)

    def counts(self) -> Iterator[Count]:
        """Counters for `/metrics`."""
        known = keyed({name: sum(not one.end_ns for one in own) for name, own in tuple(self._known.items())})
        yield Count("prism_scheduler_jobs", "running jobs that a scheduler lists", known, ("source",), level=True)
        yield Count("prism_scheduler_failed", "failed reads of a scheduler", keyed(self._failed), ("source",))

    def health(self) -> Mapping[str, Any]:
        """Health by source: the error, or the number of jobs it lists."""
        status = {name: why or f"{len(self._known.get(name, ()))} jobs" for name, why in self._ok.items()}
        return {"ok": not any(self._ok.values()), **status}
