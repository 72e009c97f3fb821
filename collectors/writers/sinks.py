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
    """A target for flow records. It counts records that it cannot keep by reason; it raises only fatal errors."""

    def write(self, flows: Flows) -> None:
        """Add records."""

    def tick(self, now_ns: int) -> None:
        """Write data that is due."""

    def close(self) -> None:
        """Write everything and close."""

    def counts(self) -> Iterator[Count]:
        """Return the fates of the records: written = kept + waiting + dropped, by reason."""


class JsonLines:
    """Writes JSON Lines to an open binary file, by default standard output; each batch is flushed."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self.kept = 0
        self._file = file or sys.stdout.buffer

    def write(self, flows: Flows) -> None:
        """Write records; raises BrokenPipeError if the reader has left."""
        for start in range(0, len(flows), ROWS):
            part = slice(start, start + ROWS)
            left = memoryview(objects(flows, part))
            while left:  # unbuffered (PYTHONUNBUFFERED), a write interrupted by a signal is partial
                left = left[self._file.write(left) :]
            self.kept += len(flows.start_ns[part])
        self._file.flush()

    def tick(self, now_ns: int) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Flush."""
        self._file.flush()

    def counts(self) -> Iterator[Count]:
        """Return the number of records."""
        yield Count(PREFIX + "sink_records", MEANING, {("kept",): self.kept}, ("fate",))


class NullSink:
    """Counts records and drops them: for measurements."""

    def __init__(self) -> None:
        self.records = 0

    def write(self, flows: Flows) -> None:
        """Count records."""
        self.records += len(flows)

    def tick(self, now_ns: int) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing."""

    def counts(self) -> Iterator[Count]:
        """Return the number of records."""
        yield Count(PREFIX + "sink_records", MEANING, {("dropped: requested",): self.records}, ("fate",))
