"""What the store refuses."""

from __future__ import annotations


class StoreError(Exception):
    """The store refused. `transient`: the same may succeed later, without anybody's doing."""

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient
