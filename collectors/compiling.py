"""Says on stderr that code is being compiled: that takes seconds, once for each installation."""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event


class _Once(event.Listener):
    """Tells of the first function that is compiled rather than loaded."""

    def __init__(self, program: str) -> None:
        self.program, self.told = program, False

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - numba's interface
        if not self.told:
            self.told = True
            print(f"{self.program}: compiling for this processor, once; some seconds", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Nothing is to be said."""


def announce(program: str) -> None:
    """From now on, have compilation told, the first time it happens."""
    register: Any = event.register
    register("numba:compile", _Once(program))
