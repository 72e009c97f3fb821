"""The tables of a store: read from it, or from the running service that has it (one process at a time opens a folder)."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from collectors.clickhouse import store_folders
from collectors.clickhouse.drivers import folder_of, opened
from collectors.clickhouse.store_error import AbsentError, InUseError, StoreError
from collectors.store import retention
from collectors.store.retention import Status
from prism.service import service_file
from prism.service.service_file import Running


@dataclass(frozen=True)
class Seen:
    """The tables of the store at `place`; `through` is the service that was asked for them, None where nobody has the store."""

    place: str
    tables: tuple[Status, ...]
    through: Running | None = None


def place(where: str) -> str:
    """The store that is meant: of the folder of `prism serve --data`, the one inside. Raises StoreError."""
    return where if "://" in where else store_folders.resolved(folder_of(where))


def seen(where: str) -> Seen:
    """The tables of a store, whoever has it. Makes nothing.

    Raises AbsentError where there is none, InUseError where a process has it that cannot be asked, StoreError.
    """
    at = place(where)
    try:
        with closing(opened(at, make=False)) as database:
            return Seen(at, tuple(retention.status(database)))
    except InUseError as error:
        running = holder(at, error)
        if running is None:
            raise InUseError(f"{error}; it serves no pages that could be asked", error.process) from None
        return _through(at, running)
    except AbsentError:
        running = None if "://" in at else service_file.read(folder_of(at))
        if running is None or not _lives(running.process):
            raise
        return _through(running.store, running)


def holder(at: str, error: InUseError) -> Running | None:
    """The service that has a store and answers; None where another program has it, or a service without pages."""
    running = service_file.read(folder_of(at))
    return running if running is not None and running.process == error.process else None


def kept(at: str, error: InUseError) -> InUseError:
    """The same refusal for a command that changes the store, which a service does not do for others."""
    running = holder(at, error)
    if running is None:
        return error
    return InUseError(
        f"{at}: in use by the service at {running.url} (process {running.process}); stop it first, it drops what is too old by "
        "itself; prism store status shows the store meanwhile",
        error.process,
    )


def _through(at: str, running: Running) -> Seen:
    try:
        from prism.service.service_client import Asking
    except ModuleNotFoundError:
        raise StoreError(f"{at}: in use by {_named(running)}; to ask it: pip install 'llm-prism[service]'") from None
    try:
        with Asking(running.url, token=running.token, host="localhost") as service:
            found = service.get("/store")
        return Seen(at, tuple(_status(table) for table in found["tables"]), running)
    except (ValueError, KeyError, TypeError) as error:
        raise InUseError(f"{at}: in use by {_named(running)}, which was asked: {error}", running.process) from None


def _status(table: dict[str, Any]) -> Status:
    known = {field.name: table[field.name] for field in fields(Status)}  # a newer service may say more
    return Status(**known | {name: int(table[name]) for name in ("first_ns", "last_ns")})


def _named(running: Running) -> str:
    return f"the service at {running.url} (process {running.process})"


def _lives(process: int) -> bool:
    """Whether a process runs; one of another user does, too."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return process > 0


def folder(store: str, data: str | Path) -> Path:
    """Where the service of a store puts its `service_file`: in the store's folder, or beside what waits for a server."""
    return Path(data) if "://" in store else Path(folder_of(store))
