"""A flag that a signal handler may set: `threading.Event` takes a lock, and a second signal would wait for it for ever."""

from __future__ import annotations


class Flag:
    """Set or not. To be asked now and then; nobody waits for it."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Set it."""
        self._set = True

    def clear(self) -> None:
        """Take it back."""
        self._set = False

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._set
