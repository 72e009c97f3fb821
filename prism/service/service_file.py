"""The file by which commands on the same host find a running service: its address and a read token, readable by its owner only.

It is in the folder of the embedded store, or in the data folder if the store is on a server. Mode 0600, written completely and
renamed, removed at the end. It remains after a kill: `process` shows whether it belongs to the present owner of the store.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

NAME = "service.json"
LONGEST = 1 << 14  # maximum octets of the file
EVERYWHERE = {"": "127.0.0.1", "*": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


@dataclass(frozen=True)
class Running:
    """A running service: its address for this host, process id, store, and read token."""

    url: str
    process: int
    store: str
    token: str


@contextmanager
def service_note(folder: str | Path, running: Running) -> Iterator[Path]:
    """Write the file, and remove it at the end of the context. Raises OSError."""
    path = Path(folder, NAME)
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{NAME}.")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(running), file, indent=1)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    try:
        yield path
    finally:
        found = read(folder)
        if found is not None and found.process == running.process:
            with suppress(OSError):
                path.unlink()


def read(folder: str | Path) -> Running | None:
    """Read the file of a folder; None if it is missing or invalid."""
    path = Path(folder, NAME)
    try:
        if not path.is_file():
            return None
        with path.open(encoding="utf-8") as file:
            found = Running(**json.loads(file.read(LONGEST)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    texts = (found.url, found.store, found.token)
    right = all(isinstance(text, str) and text.isprintable() for text in texts) and isinstance(found.process, int)
    return found if right and found.url.startswith("http://") and found.token.isascii() else None


def local_url(url: str) -> str:
    """Return the address of a service for its own host; one that listens everywhere also listens on loopback."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    return f"http://{EVERYWHERE.get(host, host)}:{port}"
