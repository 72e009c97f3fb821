"""Save a decoder's state at intervals while it works, because exporters repeat templates only about every ten minutes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from collectors.live import state_file
from collectors.operations.logs import log_event

EVERY_S = 30.0


class StateSaver:
    """Saves `state()` to a file at intervals if it changed, and at the end. A disk error is logged once."""

    def __init__(self, path: str, state: Callable[[], Any], *, every_s: float = EVERY_S) -> None:
        self.path, self._state, self._every_s = path, state, every_s
        self._kept: Any = None
        self._due, self._refused = time.monotonic() + every_s, False

    def tick(self) -> None:
        """Save if it is due."""
        if time.monotonic() >= self._due:
            self.save()

    def save(self) -> None:
        """Save the state, unless the file has it."""
        self._due = time.monotonic() + self._every_s
        state = self._state()
        if state == self._kept:
            return
        try:
            state_file.save(self.path, state)
        except OSError as error:
            if not self._refused:
                log_event("templates not saved, trying again", level=logging.ERROR, file=self.path, error=error)
            self._refused = True
            return
        self._kept, self._refused = state, False
