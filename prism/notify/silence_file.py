"""Keep silences in a file shared by people and the service: written atomically, by one writer at a time."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from collectors.live.state_file import save
from prism.alerts.matchers import Matcher, Silence, parse_silence

FILE = "silences.json"
KEEP_NS = 30 * 86_400 * 10**9  # how long ended silences are shown
BIGGEST = 1 << 24


def read(folder: str | Path) -> list[Silence]:
    """Read the silences of a folder; none without a file. Raises ValueError with the file, OSError."""
    path = Path(folder) / FILE
    try:
        with path.open("rb") as file:
            octets = file.read(BIGGEST)
    except FileNotFoundError:
        return []
    try:
        found = json.loads(octets)
        return [parse_silence(fields) for fields in found["silences"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path}: not a file of silences: {error}; move it away, and the service starts a new one") from None


def add(
    folder: str | Path,
    matchers: Sequence[Matcher],
    start_ns: int,
    end_ns: int,
    *,
    by: str = "",
    why: str = "",
    now_ns: int | None = None,
) -> Silence:
    """Add a silence for [start_ns, end_ns). Raises ValueError, OSError."""
    made = Silence(secrets.token_hex(4), tuple(matchers), start_ns, end_ns, by, why)
    parse_silence(made.to_json())
    with _alone(folder):
        oldest = (time.time_ns() if now_ns is None else now_ns) - KEEP_NS
        kept = [one for one in read(folder) if one.end_ns > oldest]
        _write(folder, [*kept, made])
    return made


def remove(folder: str | Path, name: str, now_ns: int) -> Silence:
    """End a silence now; a future one is removed. `name`: an id or its unique prefix. Raises ValueError, OSError."""
    with _alone(folder):
        known = read(folder)
        meant = [one for one in known if name and one.id.startswith(name) and one.end_ns > now_ns]
        if not meant:
            raise ValueError(f"no active or future silence has an id that starts with {name!r}; see prism silence list")
        if len(meant) > 1:
            raise ValueError(f"{len(meant)} silences have an id that starts with {name!r}; give more characters")
        rest = [one for one in known if one is not meant[0]]
        over = Silence(**{**vars(meant[0]), "end_ns": now_ns})
        _write(folder, [*rest, over] if over.start_ns < now_ns else rest)
    return meant[0]


def file_stamp(folder: str | Path) -> tuple[int, int, int]:
    """Return a value that changes whenever the file does."""
    try:
        found = (Path(folder) / FILE).stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_ino, found.st_size


def _write(folder: str | Path, silences: Sequence[Silence]) -> None:
    save(Path(folder) / FILE, {"silences": [one.to_json() for one in silences]})


@contextmanager
def _alone(folder: str | Path) -> Iterator[None]:
    handle = os.open(Path(folder) / f".{FILE}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
