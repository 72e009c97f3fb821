"""Save runs of jobs in the store: a job that runs again is compared with its earlier runs (prism.metrics.earlier_runs)."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from collectors.clickhouse.drivers import Database, StoreError, Table, TableColumn
from collectors.operations.logs import log_event
from prism.metrics.earlier_runs import Run, from_json, summarise_run
from prism.tracking.board import Board, Boards

RUNS = Table(
    name="runs",
    columns=(
        TableColumn("id", "String"),
        TableColumn("version", "UInt64"),
        TableColumn("start_ns", "Int64"),
        TableColumn("told", "String", codec="ZSTD(1)"),
    ),
    order=("id",),
    time="start_ns",
    keep_s=400 * 86_400,
    replacing="version",
)
MOST = 2000  # newest runs that are kept in memory
EVERY_S = 600.0  # seconds between two measurements of a running job
LOOK_S = 15.0


class Runs:
    """The newest measurement of every job. Thread-safe. `unread` counts invalid rows."""

    def __init__(self, database: Database | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._clock, self._lock = database, clock, threading.Lock()
        self._known: dict[str, Run] = {}
        self._measured: dict[str, tuple[int, float]] = {}  # by job: its end, and the time of the measurement
        self.unread = 0
        if database is not None:
            database.create(RUNS)
            self._load(database)

    def _load(self, database: Database) -> None:
        sql = "SELECT argMax(told, version) AS newest, max(start_ns) AS begun FROM runs GROUP BY id"
        sql += " ORDER BY begun DESC LIMIT {most:UInt64}"
        for text in reversed(list(database.query(sql, {"most": MOST}).get("newest", ()))):
            try:
                one = from_json(json.loads(text))
            except (ValueError, TypeError, KeyError):
                self.unread += 1
                continue
            self._known[one.job] = one

    def all(self) -> Sequence[Run]:
        """Return all runs, oldest first."""
        with self._lock:
            return tuple(self._known.values())

    def measure_jobs(self, board: Board) -> int:
        """Measure the jobs of a board that are new, ended, or due; return their number. Raises StoreError."""
        number = 0
        for status in board.jobs:
            end, at = self._measured.get(status.id, (0, float("-inf")))
            over = status.state == "ended"
            if end == status.found.job.end_ns or (not over and self._clock() - at < EVERY_S):
                continue
            self._measured[status.id] = status.found.job.end_ns, self._clock()
            run = summarise_run(status.found)
            if run is not None:
                self._keep(run)
                number += 1
        return number

    def _keep(self, run: Run) -> None:
        with self._lock:
            self._known.pop(run.job, None)
            self._known[run.job] = run
            while len(self._known) > MOST:
                del self._known[next(iter(self._known))]
        if self._database is not None:
            columns: dict[str, Sequence[Any]] = {
                "id": [run.job],
                "version": [run.end_ns],
                "start_ns": [run.start_ns],
                "told": [json.dumps(run.to_json())],
            }
            self._database.insert(RUNS, columns, token=f"runs {run.job} {run.end_ns}", again=False)


@contextmanager
def kept_runs(runs: Runs, boards: Boards) -> Iterator[None]:
    """Measure the jobs of the newest board within the context."""
    stop = threading.Event()

    def look() -> None:
        try:
            runs.measure_jobs(boards.newest)
        except StoreError as error:
            log_event("runs not saved, trying again", level=logging.WARNING, error=error)

    def run() -> None:
        while not stop.wait(LOOK_S):
            look()

    thread = threading.Thread(target=run, name="prism-runs", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        look()
