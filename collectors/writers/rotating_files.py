"""Write live flow records to files in a folder: a new file after a number of records or a time, each written atomically."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from collectors.columns.record import COLUMNS, Codes, Flows, concatenated
from collectors.files.atomic_files import atomic_path
from collectors.operations.logs import log_event
from collectors.operations.metrics import PREFIX, Count, keyed
from collectors.writers.sinks import MEANING

Write = Callable[[str, Flows], None]

ROWS, SECONDS = 500_000, 60.0
PATIENCE = 4  # files' worth of records that wait in memory on a full disk before the oldest are dropped
RETRY_NS = 5_000_000_000


class Rotating:
    """A sink of files `folder/flows-TIME-NUMBER` + `suffix`, with records in order of start.

    If the disk refuses, records wait for another try; records beyond the memory limit are `dropped`, by reason.

    Parameters
    ----------
    folder : path
        Folder of the files.
    write : callable
        Writes flow records to a path.
    suffix : str
        End of the files' names; it defines the format.
    rows, seconds : int, float
        A file is written at this number of records, or at this age of its oldest record, s.
    """

    def __init__(self, folder: str | Path, write: Write, *, suffix: str, rows: int = ROWS, seconds: float = SECONDS) -> None:
        self.folder, self.suffix, self.rows, self.every_ns = Path(folder), suffix, rows, int(seconds * 1e9)
        self.files = self.kept = self.waiting = 0
        self.dropped: Counter[str] = Counter()
        self._write = write
        self._parts: list[Flows] = []
        self._due_ns = self._again_ns = 0
        if not self.folder.is_dir():
            raise NotADirectoryError(20, "not a folder", str(folder))

    def write(self, flows: Flows) -> None:
        """Add records."""
        if len(flows):
            self._due_ns = self._due_ns or time.time_ns() + self.every_ns
            self._parts.append(flows)
            self.waiting += len(flows)
            if self.waiting >= self.rows:
                self._make(time.time_ns())

    def tick(self, now_ns: int) -> None:
        """Write a file if it is due."""
        if self.waiting and now_ns >= self._due_ns:
            self._make(now_ns)

    def close(self) -> None:
        """Write a file of the waiting records; if the disk refuses now, they are dropped."""
        self._again_ns = 0
        if self.waiting:
            self._make(0, last=True)

    def _make(self, now_ns: int, *, last: bool = False) -> None:
        if now_ns < self._again_ns and self.waiting < PATIENCE * self.rows:
            return
        path = self.folder / f"flows-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{self.files:06}{self.suffix}"
        try:
            with atomic_path(str(path)) as name:
                self._write(name, by_start(self._parts))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            log_event("file not written", level=logging.ERROR, path=path, reason=reason, records=self.waiting)
            self._again_ns = self._due_ns = now_ns + RETRY_NS
            if not last and self.waiting < PATIENCE * self.rows:
                return
            self.dropped[reason] += self.waiting
        else:
            self.files += 1
            self.kept += self.waiting
            log_event("file written", path=path, records=self.waiting)
        self._parts, self.waiting, self._due_ns = [], 0, 0

    def counts(self) -> Iterator[Count]:
        """Return the fates of the records."""
        fates = {"kept": self.kept, **{f"dropped: {reason}": n for reason, n in self.dropped.items()}}
        yield Count(PREFIX + "sink_records", MEANING, keyed(fates), ("fate",))
        yield Count(PREFIX + "sink_waiting", "flow records waiting to be written", {(): self.waiting}, level=True)
        yield Count(PREFIX + "sink_files", "files written", {(): self.files})


def by_start(parts: Sequence[Flows]) -> Flows:
    """Merge the records of several parts, by start."""
    whole = joined(parts)
    if np.all(whole.start_ns[1:] >= whole.start_ns[:-1]):
        return whole
    return whole.take(np.argsort(whole.start_ns, kind="stable"))


def joined(parts: Sequence[Flows]) -> Flows:
    """Concatenate the records of several parts. Growing dictionaries, as from decoders, are used as they are."""
    last = parts[-1]
    if len(parts) == 1:
        return last
    if any(not _begins(last, part) for part in parts):
        return concatenated([_used(part) for part in parts])
    columns: dict[str, Any] = {c.name: np.concatenate([getattr(part, c.name) for part in parts]) for c in COLUMNS}
    return replace(last, **columns)


def _begins(last: Flows, part: Flows) -> bool:
    pairs = ((last.endpoints, part.endpoints), (last.exporters, part.exporters), (last.paths, part.paths))
    return all(long is short or long[: len(short)] == short for long, short in pairs)


def _used(part: Flows) -> Flows:
    """Drop the endpoints that no record uses."""
    codes, where = np.unique(np.concatenate([part.src, part.dst]), return_inverse=True)
    which: Codes = where.astype(np.int32)
    names = tuple(part.endpoints[code] for code in codes.tolist())
    return replace(part, src=which[: len(part)], dst=which[len(part) :], endpoints=names)
