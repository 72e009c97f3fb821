"""A flag for signal handlers: `threading.Event` takes a lock, on which a second signal would wait forever."""

from __future__ import annotations


class Flag:
    """A flag to be polled; nobody waits for it."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Set it."""
        self._set = True

    def clear(self) -> None:
        """Clear it."""
        self._set = False

    def is_set(self) -> bool:
        """Check whether it is set."""
        return self._set
