"""Read the tables of a store: from the store, or from the running service that has it (one process at a time opens a
folder).
"""

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
class StoreTables:
    """The tables of the store at `place`; `through`: the service that answered, None if the store was opened directly."""

    place: str
    tables: tuple[Status, ...]
    through: Running | None = None


def place(store: str) -> str:
    """Return the store's address; for the folder of `prism serve --data`, the store inside. Raises StoreError."""
    return store if "://" in store else store_folders.resolved(folder_of(store))


def tables_of(store: str) -> StoreTables:
    """Read the tables of a store, directly or from the service that has it. Creates nothing.

    Raises AbsentError if there is none, InUseError if a process has it that does not answer, StoreError.
    """
    at = place(store)
    try:
        with closing(opened(at, make=False)) as database:
            return StoreTables(at, tuple(retention.status(database)))
    except InUseError as error:
        running = holder(at, error)
        if running is None:
            raise InUseError(f"{error}; it serves no pages that could answer", error.process) from None
        return _through(at, running)
    except AbsentError:
        running = None if "://" in at else service_file.read(folder_of(at))
        if running is None or not _is_running(running.process):
            raise
        return _through(running.store, running)


def holder(at: str, error: InUseError) -> Running | None:
    """Return the service that has a store; None if another program has it, or a service without pages."""
    running = service_file.read(folder_of(at))
    return running if running is not None and running.process == error.process else None


def refusal(at: str, error: InUseError) -> InUseError:
    """Build the error for a command that changes a store in use; a service does not do that for others."""
    running = holder(at, error)
    if running is None:
        return error
    return InUseError(
        f"{at}: in use by the service at {running.url} (process {running.process}); stop it first, it drops what is too old by "
        "itself; prism store status shows the store meanwhile",
        error.process,
    )


def _through(at: str, running: Running) -> StoreTables:
    try:
        from prism.service.service_client import ServiceClient
    except ModuleNotFoundError:
        raise StoreError(f"{at}: in use by {_named(running)}; to query it: pip install 'llm-prism[service]'") from None
    try:
        with ServiceClient(running.url, token=running.token, host="localhost") as service:
            found = service.get("/store")
        return StoreTables(at, tuple(_status(table) for table in found["tables"]), running)
    except (ValueError, KeyError, TypeError) as error:
        raise InUseError(f"{at}: in use by {_named(running)}; its answer: {error}", running.process) from None


def _status(table: dict[str, Any]) -> Status:
    known = {field.name: table[field.name] for field in fields(Status)}  # a newer service may have more fields
    return Status(**known | {name: int(table[name]) for name in ("first_ns", "last_ns")})


def _named(running: Running) -> str:
    return f"the service at {running.url} (process {running.process})"


def _is_running(process: int) -> bool:
    """Check whether a process runs, of any user."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return process > 0


def folder(store: str, data: str | Path) -> Path:
    """Return the folder of the `service_file`: the store's folder, or `data` if the store is a server."""
    return Path(data) if "://" in store else Path(folder_of(store))
