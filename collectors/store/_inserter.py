"""Insert batches from the spool into the store in its own thread: oldest first, unchanged, until each is stored."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from collectors.clickhouse import drivers
from collectors.clickhouse.drivers import Database
from collectors.clickhouse.server_address import mask_password
from collectors.clickhouse.store_error import StoreError
from collectors.clickhouse.tables import Table
from collectors.columns.record import Flows
from collectors.operations.logs import log_event
from collectors.store import flow_rows, retention
from collectors.store.spool import Batch, Spool

RETRY_S, LONGEST_S = 0.25, 30.0
PRUNE_S = 600.0
FRESH = 2  # batches that stay in memory besides the spool


class Piece(NamedTuple):
    """Records of a batch in one partition, as rows of both tables."""

    token: str
    records: int
    rows: Mapping[str, Any]
    pairs: Sequence[tuple[str, Mapping[str, Any]]]  # with tokens: pairs have their own partitions


class InserterThread:
    """The thread that moves batches from the spool to the store, oldest first."""

    def __init__(self, where: str, spool: Spool, *, keep_s: int) -> None:
        self.where, self.spool, self.keep_s = where, spool, keep_s
        self.tally: Counter[str] = Counter()
        self.done = self.errors = 0  # inserted records of the current batch
        self.lock = threading.Lock()
        self.error: StoreError | None = None
        # sent, perhaps not stored; batches of an earlier process count as sent, whatever the clock
        self._sent: set[Batch] = set()
        self._database: Database | None = None
        self._tables: tuple[Table, Table] = flow_rows.tables_kept_for(keep_s)
        self._partition_ns = self._pairs_ns = 0
        self._wake, self._stop, self._last = threading.Event(), threading.Event(), 0.0
        self._pruned = 0.0
        self._fresh: dict[Batch, Flows] = {}
        self._ahead = ThreadPoolExecutor(1, "store-ahead")
        self._next: tuple[Batch | None, Future[list[Piece]] | None] = (None, None)
        try:
            self._open()
        except StoreError as error:
            if not error.transient:
                raise
            self._complain(error)
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Wake the thread."""
        self._wake.set()

    def offer(self, batch: Batch, flows: Flows) -> None:
        """Add a new batch of the spool with its records."""
        if len(self._fresh) < FRESH:
            self._fresh[batch] = flows
        self._wake.set()

    def stop(self, patience_s: float) -> None:
        """End once the spool is empty, the time is over, or the store refuses."""
        self._last = time.monotonic() + patience_s
        self._stop.set()
        self._wake.set()
        self._thread.join()
        self._ahead.shutdown()
        if self._database:
            self._database.close()

    def health(self) -> dict[str, Any]:
        """See `Storing.health`."""
        error = self.error
        state = "ok" if error is None else "waiting" if error.transient else "failed"
        return {"state": state, "error": "" if error is None else str(error), "store": mask_password(self.where)}

    def _run(self) -> None:
        pause = RETRY_S
        while not self._ended():
            try:
                if self._step():
                    pause = RETRY_S
                    continue
                self._wake.wait(0.2 if not self._stop.is_set() else 0)
                self._wake.clear()
            except Exception as error:  # after any error, records stay in the spool
                known = StoreError(f"{type(error).__name__}: {error}", transient=isinstance(error, OSError))
                self._complain(error if isinstance(error, StoreError) else known)
                self._retry_later()
                self._stop.wait(pause) if not self._stop.is_set() else time.sleep(min(pause, 0.1))
                pause = min(2 * pause, LONGEST_S)

    def _ended(self) -> bool:
        return self._stop.is_set() and (not len(self.spool) or time.monotonic() > self._last)

    def _complain(self, error: StoreError) -> None:
        self.errors += 1
        if self.error is None or str(self.error) != str(error):
            hint = (
                "records wait in the spool; the insert is repeated"
                if error.transient
                else "correct the store; records wait in the spool"
            )
            log_event(
                "store does not accept records", level=logging.ERROR, store=mask_password(self.where), reason=error, hint=hint
            )
        self.error = error

    def _open(self) -> Database:
        if self._database is None:
            database = drivers.opened(self.where)
            try:
                for table in self._tables:
                    database.create(table)
                known, pairs = (database.registered(table.name) for table in self._tables)
                if known and pairs:
                    self.keep_s, self._partition_ns, self._pairs_ns = (
                        known["keep_s"],
                        known["partition_ns"],
                        pairs["partition_ns"],
                    )
            except StoreError:
                database.close()
                raise
            self._database = database
        return self._database

    def _retry_later(self) -> None:
        """Create tables again, since they, or a database, may have been deleted."""
        if self._database and self.error and not self.error.transient:
            self._database.close()
            self._database = None

    def _step(self) -> bool:
        """Insert one batch; return whether there was one."""
        database = self._open()
        if database.plain and time.monotonic() > self._pruned:  # other servers do it themselves
            self._pruned = time.monotonic() + PRUNE_S
            retention.prune(database, time.time_ns())
        batch = self.spool.first()
        if batch is None:
            self.error = None
            return False
        pieces = self._taken(batch)
        if pieces:
            again = batch in self._sent or not self.spool.made(batch)
            self._sent.add(batch)
            self._insert(database, pieces, again=again)
            with self.lock:
                self.spool.remove(batch)
                self.done = 0
            self._sent.discard(batch)
        if self.error:
            log_event("store accepts records again", store=mask_password(self.where))
        self.error = None
        return True

    def _taken(self, batch: Batch) -> list[Piece]:
        """Return a batch as pieces to insert, and prepare the next one meanwhile."""
        (known, ready), self._next = self._next, (None, None)
        found = ready.result() if ready and known == batch else self._pieces(batch)
        if after := self.spool.second():
            self._next = after, self._ahead.submit(self._pieces, after)
        return found

    def _pieces(self, batch: Batch) -> list[Piece]:
        """Split a batch by partition; empty for a damaged one."""
        flows = self._fresh.pop(batch, None)  # after a refusal, it is read from disk
        if flows is None:
            with self.lock:
                flows = self.spool.read(batch)
        if flows is None:
            return []
        found = []
        for number, rows in flow_rows.split_partitions(flows.start_ns, self._partition_ns).items():
            part = flow_rows.sort_records(flows if len(rows) == len(flows) else flows.take(rows))
            token = f"{batch.token}-{number}"
            found.append(Piece(token, len(part), flow_rows.to_rows(part), flow_rows.pair_pieces(part, self._pairs_ns, token)))
        return found

    def _insert(self, database: Database, pieces: Sequence[Piece], *, again: bool) -> None:
        flow_table, pair_table = self._tables
        fates: Counter[str] = Counter()
        for piece in pieces:
            new = database.insert(flow_table, piece.rows, token=piece.token, again=again)
            for token, pairs in piece.pairs:
                database.insert(pair_table, pairs, token=token, again=again, absent=new)
            fates["stored" if new else "deduplicated"] += piece.records
        with self.lock:
            self.tally.update(fates)
            self.done = sum(fates.values())
