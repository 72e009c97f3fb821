"""The protocol of live targets for flow records; each kind of target is a class."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from collectors.columns.record import Flows
from collectors.operations.metrics import PREFIX, Count
from collectors.writers.record_files import ROWS, objects

MEANING = "flow records: kept, dropped for a reason"


class Sink(Protocol):
    """Takes flow records. What it cannot keep it counts itself, under a reason; it raises only what should end the program."""

    def write(self, flows: Flows) -> None:
        """Take records."""

    def tick(self, now_ns: int) -> None:
        """Time passes: write out what is due."""

    def close(self) -> None:
        """Write out everything and leave nothing behind."""

    def counts(self) -> Iterator[Count]:
        """What became of the records: written = kept + waiting + dropped, by reason."""


class JsonLines:
    """Records as JSON Lines to an open binary file, standard output where none is given; each batch is flushed."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self.kept = 0
        self._file = file or sys.stdout.buffer

    def write(self, flows: Flows) -> None:
        """Write records; raises BrokenPipeError where the reader left."""
        for start in range(0, len(flows), ROWS):
            part = slice(start, start + ROWS)
            left = memoryview(objects(flows, part))
            while left:  # unbuffered (PYTHONUNBUFFERED), a write that a signal interrupts is a part
                left = left[self._file.write(left) :]
            self.kept += len(flows.start_ns[part])
        self._file.flush()

    def tick(self, now_ns: int) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Flush."""
        self._file.flush()

    def counts(self) -> Iterator[Count]:
        """All are kept."""
        yield Count(PREFIX + "sink_records", MEANING, {("kept",): self.kept}, ("fate",))


class Nowhere:
    """Counts records and forgets them: to measure, or to look at the counters alone."""

    def __init__(self) -> None:
        self.records = 0

    def write(self, flows: Flows) -> None:
        """Count records."""
        self.records += len(flows)

    def tick(self, now_ns: int) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is left."""

    def counts(self) -> Iterator[Count]:
        """None is kept."""
        yield Count(PREFIX + "sink_records", MEANING, {("dropped: requested",): self.records}, ("fate",))
