"""Errors of the store."""

from __future__ import annotations


class StoreError(Exception):
    """The store refused. `transient`: the same may succeed later, without anybody's doing."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class AbsentError(StoreError):
    """No store is there, and none was to be made."""


class InUseError(StoreError):
    """Another process has the folder: `process` is its number, 0 where it is unknown."""

    def __init__(self, message: str, process: int) -> None:
        super().__init__(message)
        self.process = process
