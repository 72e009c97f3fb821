"""Find out what a folder named as an embedded store holds: a store, a service's folder, or something else."""

from __future__ import annotations

import os
from pathlib import Path

from collectors.clickhouse.folder_lock import STORE, denied
from collectors.clickhouse.store_error import AbsentError, StoreError

DEFINED = Path("metadata", "prism.sql")  # the engine's definition of the database, its first file that is ours
INNER = "store"  # in the folder of `prism serve --data`
SHOWN = 3  # names that a message lists
OWN = frozenset({STORE, "spool", "lost+found"})  # what a new store may find: its lock, its spool, what a file system makes
ENGINE = frozenset(  # beside the lock: files of the engine, whose start a full disk cut short
    {"data", "metadata", "store", "tmp", "status", "uuid", "flags"}
    | {"metadata_dropped", "format_schemas", "user_files", "user_scripts", "access", "preprocessed_configs"}
)


def is_stored(folder: str | Path) -> bool:
    """Whether an embedded store is in a folder. Raises StoreError where that cannot be seen."""
    path = Path(folder, DEFINED)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise denied(Path(folder), path, error) from None
    return True


def resolved(folder: str) -> str:
    """The folder of a store: the one inside, where a folder of `prism serve --data` is named. Raises as `is_stored`."""
    is_stored(folder)  # one that may not be seen is named, not what would be in it
    inner = Path(folder, INNER)
    return str(inner) if is_stored(inner) else folder


def check_new(folder: str | Path) -> None:
    """Raises StoreError where a new store would be made among files of something else, or beside the store of a service."""
    inner = Path(folder, INNER)
    if is_stored(inner):
        raise StoreError(f"{folder}: is the folder of prism serve --data; its store is {inner}: name that")
    others = _others(folder)
    if others:
        raise StoreError(
            f"{folder}: no store exists here, but {_listed(others)}; a new store needs an empty folder or a new one"
        )


def absent(folder: str | Path) -> AbsentError:
    """That no store is in a folder, what is there instead, and what to do."""
    path = Path(folder)
    if path.exists() and not path.is_dir():
        return AbsentError(f"{folder}: no store exists here but a file; name the folder of a store")
    others = _others(folder)
    if others:
        return AbsentError(f"{folder}: no store exists here, but {_listed(others)}; name the folder of a store")
    found = "nothing is in the folder" if path.is_dir() else "there is no such folder"
    return AbsentError(f"{folder}: no store exists here; create it with prism store init; {found}")


def _others(folder: str | Path) -> list[str]:
    """What is in a folder that no store has made."""
    try:
        names = set(os.listdir(folder))
    except OSError:
        return []
    return sorted(names - OWN - (ENGINE if STORE in names else frozenset()))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"
