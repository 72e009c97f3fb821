"""Lock a folder for one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from collectors.clickhouse.store_error import InUseError, StoreError

STORE = "prism.lock"  # in the folder of an embedded store


class Held:
    """A folder that this process has, until it is released or the process ends, however it ends."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def release(self) -> None:
        """Let go."""
        os.close(self._handle)


def hold(folder: Path, name: str) -> Held:
    """Take a folder, which is made if it is not there. Raises InUseError, which names the process that has it, StoreError."""
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise denied(folder, path, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(handle, 20).decode("ascii", "replace").strip()
        os.close(handle)
        raise in_use(folder, int(owner) if owner.isdigit() else 0) from None
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except OSError:  # a full disk: the lock holds, only its owner's number is not there to be read
        pass
    return Held(handle)


def in_use(folder: Path, owner: int) -> InUseError:
    """That a process has a folder, which one, and what to do; 0 is a process that is not known."""
    who = f"{owner}{_called(owner)}" if owner else "unknown"
    return InUseError(
        f"{folder}: in use by process {who}; only one at a time can have it: stop that one, or wait for its end", owner
    )


def denied(folder: Path, path: Path, error: OSError) -> StoreError:
    """What the system refuses of a path in a folder, as the store's error."""
    return StoreError(f"{folder}: {(error.strerror or str(error)).lower()}{whose(path, error)}")


def whose(path: Path, error: OSError) -> str:
    """To whom a place belongs that permission was denied for, in words; nothing of other errors."""
    if not isinstance(error, PermissionError):
        return ""
    there = next((one for one in (path, *path.parents) if os.path.lexists(one)), Path("/"))
    try:
        return f" (user {os.geteuid()}; {there} belongs to {there.owner()})"
    except (OSError, KeyError):
        return ""


def _called(owner: int) -> str:
    """What a process of this host is called, in words."""
    try:
        words = Path(f"/proc/{owner}/comm").read_text("utf-8", "replace").strip()  # not its arguments: passwords
    except OSError:
        return ""
    return f" ({words})" if words else ""
