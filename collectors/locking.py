"""A folder that one process has at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from collectors.tables import StoreError

STORE = "prism.lock"  # in the folder of an embedded store


class Held:
    """A folder that this process has, until it is released or the process ends, however it ends."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def release(self) -> None:
        """Let go."""
        os.close(self._handle)


def hold(folder: Path, name: str) -> Held:
    """Take a folder, which is made if it is not there. Raises StoreError, which says who has it."""
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _refused(folder, path, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(handle, 20).decode("ascii", "replace").strip() or "unknown"
        os.close(handle)
        raise StoreError(f"{folder}: in use by process {owner}{_called(owner)}") from None
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except OSError:  # a full disk: the lock holds, only its owner's number is not there to be read
        pass
    return Held(handle)


def was_held(folder: Path, name: str) -> bool:
    """Whether any process ever took a folder. Raises StoreError where that cannot be seen."""
    path = folder / name
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _refused(folder, path, error) from None
    return True


def _refused(folder: Path, path: Path, error: OSError) -> StoreError:
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


def _called(owner: str) -> str:
    """What a process of this host is called, in words."""
    try:
        words = Path(f"/proc/{int(owner)}/comm").read_text("utf-8", "replace").strip()  # not its arguments: passwords
    except (OSError, ValueError):
        return ""
    return f" ({words})" if words else ""
