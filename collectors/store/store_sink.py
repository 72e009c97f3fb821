"""A sink that writes flow records to the store, each exactly once once it is in the spool.

Records are collected in memory for a second and written to the spool as a batch. A separate thread inserts each batch into
the store and repeats it until it succeeds. At any time, also at `/metrics`:

    taken = waiting + spooled + stored + deduplicated + dropped, by reason

`taken` counts records that were written to the sink or found in the spool at the start.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np

from collectors.clickhouse import drivers, store_folders
from collectors.clickhouse.schema import MAX_ROWS
from collectors.clickhouse.server_address import mask_password
from collectors.clickhouse.store_error import StoreError
from collectors.columns.record import Flows
from collectors.operations.logs import log_event
from collectors.operations.metrics import PREFIX, Count, keyed
from collectors.store import flow_rows
from collectors.store._inserter import InserterThread
from collectors.store.spool import Spool, SpoolFullError
from collectors.writers.rotating_files import joined
from collectors.writers.sinks import MEANING

ROWS, SECONDS = 500_000, 1.0
MAX_WAITING_BATCHES = 4  # batches of records that wait in memory on a full disk before they are dropped
AHEAD_S = 3600.0  # maximum offset of exporters' clocks into the future
RECENT_NS = 60 * 10**9  # how long health reports dropped records, and minimum time between two log lines
EARLY, LATE, NAMELESS = "older than the retention time", "timestamp in the future", "source or destination is not an IP address"


class Storing:
    """A sink to the store through a spool in a folder.

    Parameters
    ----------
    where : str
        Address of the store, see `drivers.opened`.
    spool : path
        Folder of batches that wait for the store.
    rows, seconds : int, float
        A batch is spooled at this number of records, or at this age of its oldest record, s.
    keep_s : int
        Retention of a new store, s.
    ahead_s : float
        Maximum offset of exporters' clocks into the future, s.
    spool_octets : int or None
        Maximum size of the spool.
    clock : callable
        Current time, ns since the epoch.

    Raises
    ------
    StoreError
        The store can never be used as it is. An unreachable server is waited for.
    """

    def __init__(
        self,
        where: str,
        spool: str | Path,
        *,
        rows: int = ROWS,
        seconds: float = SECONDS,
        keep_s: int = flow_rows.KEEP_S,
        ahead_s: float = AHEAD_S,
        spool_octets: int | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.where, self.rows, self.every_ns = where, min(rows, MAX_ROWS), int(seconds * 1e9)
        self.ahead_ns, self.keep_s, self._clock = int(ahead_s * 1e9), keep_s, clock
        self.spool = Spool(spool, **({} if spool_octets is None else {"octets": spool_octets}))
        self.taken, self.waiting, self.dropped = self.spool.records, 0, Counter[str]()
        self._found = self.taken
        self._parts: list[Flows] = []
        self._due_ns = self._again_ns = 0
        self._refused, self._closed = "", False
        self._fit_ns = self._clock()  # last arrival of storable records
        self._unfit: dict[str, tuple[int, str]] = {}  # reason: time and origin of the last drop
        self._said: dict[str, int] = {}
        try:
            self.inserting = InserterThread(where, self.spool, keep_s=keep_s)
        except StoreError:
            self.spool.close()
            raise

    def write(self, flows: Flows) -> None:
        """Add records."""
        self.taken += len(flows)
        flows = self._fit(flows)
        for start in range(0, len(flows), self.rows):
            self._take(flows.take(slice(start, start + self.rows)) if len(flows) > self.rows else flows)

    def _take(self, flows: Flows) -> None:
        if self.waiting + len(flows) > self.rows:
            self._make(self._clock())
        self._due_ns = self._due_ns or self._clock() + self.every_ns
        self._parts.append(flows)
        self.waiting += len(flows)
        if self.waiting >= self.rows:
            self._make(self._clock())

    def _fit(self, flows: Flows) -> Flows:
        """Select the records that the store can keep. Others are dropped and counted by reason."""
        now = self._clock()
        reasons = {
            NAMELESS: ~flow_rows.have_addresses(flows),
            LATE: flows.start_ns > now + self.ahead_ns,
            EARLY: flows.start_ns < now - self.inserting.keep_s * 10**9,
        }
        bad = np.zeros(len(flows), np.bool_)
        for reason, rows in reasons.items():
            if (rows & ~bad).any():
                own = np.flatnonzero(rows & ~bad)
                self._unfit[reason] = now, _whose(flows, int(own[0]), now)
                self._drop(len(own), reason)
                bad |= rows
        if not bad.all():
            self._fit_ns = now
        return flows.take(~bad) if bad.any() else flows

    def _drop(self, count: int, reason: str) -> None:
        now = self._clock()
        if count and now >= self._said.get(reason, 0):
            self._said[reason] = now + RECENT_NS
            whose = {"first": self._unfit[reason][1]} if reason in self._unfit else {}
            said = {"records": count, "before": self.dropped[reason], **whose}
            log_event("records dropped", level=logging.WARNING, reason=reason, **said)
        self.dropped[reason] += count

    def tick(self, now_ns: int) -> None:
        """Spool if it is due."""
        if self.waiting and now_ns >= self._due_ns:
            self._make(now_ns)

    def flush(self) -> None:
        """Spool everything now; if the disk refuses, records keep waiting."""
        self._again_ns = 0
        if self.waiting:
            self._make(self._clock())

    def close(self, *, patience_s: float = 10.0) -> None:
        """Spool everything, and wait a while for the store; the rest stays in the spool for the next start.

        Further calls do nothing.
        """
        if self._closed:
            return
        self._again_ns, self._closed = 0, True
        if self.waiting:
            self._make(0, last=True)
        self.inserting.stop(patience_s)
        self.spool.close()

    def _make(self, now_ns: int, *, last: bool = False) -> None:
        """Make a batch of the waiting records."""
        if now_ns < self._again_ns and self.waiting < MAX_WAITING_BATCHES * self.rows:
            return
        try:
            for part in _batches(joined(self._parts), MAX_ROWS):
                self.inserting.offer(self.spool.add(part), part)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            if reason != self._refused:
                log_event(
                    "spool not written", level=logging.ERROR, folder=self.spool.folder, reason=reason, records=self.waiting
                )
            self._refused = reason
            self._again_ns = self._due_ns = now_ns + int(1e9)
            full = isinstance(error, SpoolFullError) and self.waiting >= self.rows
            if not last and not full and self.waiting < MAX_WAITING_BATCHES * self.rows:
                return
            self._drop(self.waiting, reason)
        else:
            self._refused = ""
        self._parts, self.waiting, self._due_ns = [], 0, 0

    def health(self) -> dict[str, Any]:
        """Report whether the store accepts records: `state` is ok, waiting (it will pass) or failed (needs an operator)."""
        found = self.inserting.health()
        if self._refused:
            found |= {"state": "failed", "error": f"{self.spool.folder}: {self._refused}"}
        now = self._clock()
        dropping = {reason: whose for reason, (at, whose) in self._unfit.items() if now - at < RECENT_NS}
        if dropping and now - self._fit_ns >= RECENT_NS and found["state"] == "ok":
            said = "; ".join(f"{reason}, {whose}" for reason, whose in dropping.items())
            found |= {
                "state": "failed",
                "error": f"all records are dropped: {said}; check the clocks of this host and the exporters",
            }
        batches, records, oldest = len(self.spool), self.spool.records, self.spool.oldest_s(now)
        spooled = {"spooled_batches": batches, "spooled_records": records, "oldest_s": oldest}
        return {**found, **spooled, "dropping": dropping}

    def left(self) -> int:
        """Return the number of records from the spool at the start that are not stored yet; oldest go first."""
        return max(self._found - sum(self.records_by_result()[name] for name in ("stored", "deduplicated")), 0)

    def records_by_result(self) -> dict[str, int]:
        """Count the records taken by result: the terms of the sum above."""
        with self.inserting.lock:
            dropped = Counter(self.dropped) + self.spool.dropped
            tally = self.inserting.tally
            found = {"stored": tally["stored"], "deduplicated": tally["deduplicated"]}
            found |= {"waiting": self.waiting, "spooled": self.spool.records - self.inserting.done}
        return {**found, **{f"dropped: {reason}": n for reason, n in sorted(dropped.items())}}

    def counts(self) -> Iterator[Count]:
        """Return the fates of the records, and the state of the spool."""
        fates = self.records_by_result()
        levels = {"waiting": fates.pop("waiting"), "spooled": fates.pop("spooled")}
        fates["kept"] = fates.pop("stored")
        yield Count(PREFIX + "sink_records", MEANING, keyed(fates), ("fate",))
        yield Count(
            PREFIX + "sink_taken", "flow records accepted, including those found in the spool at the start", {(): self.taken}
        )
        meaning = "flow records not yet in the store, in memory and in the spool"
        yield Count(PREFIX + "sink_waiting", meaning, keyed(levels), ("where",), level=True)
        yield Count(PREFIX + "spool_octets", "size of the spool", {(): self.spool.octets}, level=True)
        yield Count(PREFIX + "spool_strange", "files set aside because they are not batches", {(): self.spool.strange})
        yield Count(
            PREFIX + "spool_oldest_seconds",
            "age of the oldest batch in the spool",
            {(): self.spool.oldest_s(self._clock())},
            level=True,
        )
        yield Count(PREFIX + "store_errors", "failed inserts; they are retried", {(): self.inserting.errors})
        up = 1.0 if self.health()["state"] == "ok" else 0.0
        yield Count(PREFIX + "store_up", "1 if the store accepts records, else 0", {(): up}, level=True)


def _whose(flows: Flows, row: int, now_ns: int) -> str:
    """Describe a record: exporter, endpoints, and how far its time is from the time here, which shows a wrong clock."""
    off = (int(flows.start_ns[row]) - now_ns) / 1e9
    who = flows.exporters[flows.exporter[row]] if flows.exporters else "an exporter without a name"
    ends = " to ".join(flows.endpoints[end[row]] for end in (flows.src, flows.dst))
    return f"from {who}: {ends}, {abs(off):,.0f} s {'ahead' if off > 0 else 'ago'}"


def _batches(flows: Flows, most: int) -> Iterator[Flows]:
    for start in range(0, len(flows), most):
        yield flows if len(flows) <= most else flows.take(slice(start, start + most))


def open_sink(out: str) -> Storing:
    """Open the sink of `--out`: `chdb:FOLDER`, with its spool inside, or a server's address, optionally with `?spool=FOLDER`.

    Otherwise a server's spool is in the state folder of systemd (STATE_DIRECTORY) or of the desktop (XDG_STATE_HOME). Raises
    StoreError for an empty folder name, or a folder with other content.
    """
    if out.startswith("chdb:"):
        folder = Path(drivers.folder_of(out))
        if not store_folders.is_stored(folder):
            store_folders.check_new(folder)  # before a spool is created in it
        return Storing(out, folder / "spool")
    parts = urlsplit(out)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if options.get("spool") == "":
        raise StoreError(f"{mask_password(out)}: spool= is empty; is a shell variable not set?")
    state = os.environ.get("STATE_DIRECTORY") or os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    spool = options.pop("spool", None) or Path(state).expanduser() / "prism-spool"
    return Storing(urlunsplit(parts._replace(query=urlencode(options))), spool)
