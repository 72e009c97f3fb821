"""Errors of the store."""

from __future__ import annotations


class StoreError(Exception):
    """An error of the store. `transient`: the same call may succeed later without changes."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient


class AbsentError(StoreError):
    """The store does not exist, and must not be created."""


class InUseError(StoreError):
    """Another process uses the folder: `process` is its number, 0 if unknown."""

    def __init__(self, message: str, process: int) -> None:
        super().__init__(message)
        self.process = process
