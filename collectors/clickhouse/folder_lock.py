"""Lock a folder for one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from collectors.clickhouse.store_error import InUseError, StoreError

STORE = "prism.lock"  # in the folder of an embedded store


class FolderLock:
    """A lock on a folder, until it is released or the process ends."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def release(self) -> None:
        """Release the lock."""
        os.close(self._handle)


def lock_folder(folder: Path, name: str) -> FolderLock:
    """Lock a folder, creating it if necessary. Raises InUseError with the process that holds it, StoreError."""
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise denied_error(folder, path, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(handle, 20).decode("ascii", "replace").strip()
        os.close(handle)
        raise in_use_error(folder, int(owner) if owner.isdigit() else 0) from None
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except OSError:  # a full disk: the lock is held, only the owner's number is missing
        pass
    return FolderLock(handle)


def in_use_error(folder: Path, owner: int) -> InUseError:
    """Make the error for a folder in use: the process, and what to do; 0 is an unknown process."""
    who = f"{owner}{_process_name(owner)}" if owner else "unknown"
    return InUseError(
        f"{folder}: in use by process {who}; only one at a time can have it: stop that one, or wait for its end", owner
    )


def denied_error(folder: Path, path: Path, error: OSError) -> StoreError:
    """Convert a system error for a path in a folder to StoreError."""
    return StoreError(f"{folder}: {(error.strerror or str(error)).lower()}{describe_owner(path, error)}")


def describe_owner(path: Path, error: OSError) -> str:
    """Describe the owner of a path after a permission error; empty for other errors."""
    if not isinstance(error, PermissionError):
        return ""
    there = next((one for one in (path, *path.parents) if os.path.lexists(one)), Path("/"))
    try:
        return f" (user {os.geteuid()}; {there} belongs to {there.owner()})"
    except (OSError, KeyError):
        return ""


def _process_name(owner: int) -> str:
    """Describe a process of this host."""
    try:
        # not its arguments, which may contain passwords
        words = Path(f"/proc/{owner}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""
    return f" ({words})" if words else ""
