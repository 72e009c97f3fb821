"""Start a program without waiting for the compiler: run loops as plain Python while another process compiles them."""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from numba.core import event

from collectors.compilation import compiled
from collectors.compilation.source_stamps import PACKAGES
from collectors.compilation.warming import Warming, compiled_beside

INTERPRETED = "the analysis is not compiled for this processor yet, so this run is slower; run once: {0} warm"
COMPILING = "compiling the analysis for this large input, once per installation; to do it in advance: {0} warm"


@contextmanager
def begin(program: str, *, quiet: bool = False, packages: Sequence[str] = PACKAGES) -> Iterator[None]:
    """Interpret loops without compiled code from now on. The first one prints a line and starts compilation in another process.

    A context, for one command. Loops for large inputs are compiled in this process; the end of the command prints their number
    and the seconds. Compilation that continues in another process after the command is not reported.
    """
    warming = Warming(packages)

    def wanted() -> None:
        _tell(f"{program}: {INTERPRETED.format(program)}", quiet)
        warming.start()
        atexit.register(warming.stop)

    compiled.be_patient(wanted, compiled_beside)
    clock, numba_event = _Clock(program, quiet), cast(Any, event)  # untyped
    numba_event.register("numba:compile", clock)
    try:
        yield
    finally:
        numba_event.unregister("numba:compile", clock)
        clock.end()


class _Clock(event.Listener):  # type: ignore[misc]
    """Counts loops that this process compiles, and measures the seconds. The parts of a loop count with the loop."""

    def __init__(self, program: str, quiet: bool) -> None:
        self.program, self.quiet = program, quiet
        self.loops, self.seconds, self._depth, self._began = 0, 0.0, 0, 0.0

    def on_start(self, event: Any) -> None:  # noqa: ARG002 - numba's interface
        if not self._depth:
            self._began = time.monotonic()
            if not self.loops:
                _tell(f"{self.program}: {COMPILING.format(self.program)}", self.quiet)
        self._depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002 - numba's interface
        self._depth -= 1
        if not self._depth:
            self.loops += 1
            self.seconds += time.monotonic() - self._began

    def end(self) -> None:
        """Print the number of compiled loops and the seconds, if there were any."""
        if self.loops:
            _tell(f"{self.program}: compiled {self.loops} loop{'s' * (self.loops != 1)} in {self.seconds:.1f} s", self.quiet)


def _tell(line: str, quiet: bool) -> None:
    if not quiet:
        print(line, file=sys.stderr, flush=True)
