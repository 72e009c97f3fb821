"""Check the content of a folder: an embedded store, a service's folder, or something else."""

from __future__ import annotations

import os
from pathlib import Path

from collectors.clickhouse.folder_lock import STORE, denied_error
from collectors.clickhouse.store_error import AbsentError, StoreError

DEFINED = Path("metadata", "prism.sql")  # the engine's definition of our database
INNER = "store"  # inside the folder of `prism serve --data`
MAX_NAMES = 3  # names listed in a message
# allowed in the folder of a new store: its lock, its spool, the file system's own folder
ALLOWED_NAMES = frozenset({STORE, "spool", "lost+found"})
ENGINE = frozenset(  # besides the lock: files of an engine whose start failed on a full disk
    {"data", "metadata", "store", "tmp", "status", "uuid", "flags"}
    | {"metadata_dropped", "format_schemas", "user_files", "user_scripts", "access", "preprocessed_configs"}
)


def is_stored(folder: str | Path) -> bool:
    """Check whether a folder contains an embedded store. Raises StoreError if it cannot be read."""
    path = Path(folder, DEFINED)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise denied_error(Path(folder), path, error) from None
    return True


def resolved(folder: str) -> str:
    """Return the folder of a store: the inner one for a folder of `prism serve --data`. Raises as `is_stored`."""
    is_stored(folder)  # an unreadable folder is named itself, not its inner folder
    inner = Path(folder, INNER)
    return str(inner) if is_stored(inner) else folder


def check_new(folder: str | Path) -> None:
    """Raise StoreError if a new store would mix with other files or with the store of a service."""
    inner = Path(folder, INNER)
    if is_stored(inner):
        raise StoreError(f"{folder}: is the folder of prism serve --data; its store is {inner}: name that")
    others = _others(folder)
    if others:
        raise StoreError(
            f"{folder}: no store exists here, but {_listed(others)}; a new store needs an empty folder or a new one"
        )


def absent(folder: str | Path) -> AbsentError:
    """Make the error for a folder without a store: its content, and what to do."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        return AbsentError(f"{folder}: no store exists here but a file; name the folder of a store")
    others = _others(folder)
    if others:
        return AbsentError(f"{folder}: no store exists here, but {_listed(others)}; name the folder of a store")
    found = "nothing is in the folder" if path.is_dir() else "there is no such folder"
    return AbsentError(f"{folder}: no store exists here; create it with prism store init; {found}")


def _others(folder: str | Path) -> list[str]:
    """List files in a folder that belong to no store."""
    try:
        names = set(os.listdir(folder))
    except OSError:
        return []
    return sorted(names - ALLOWED_NAMES - (ENGINE if STORE in names else frozenset()))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{', '.join(names[:MAX_NAMES])}{more}"
