"""Keep remarks in the store; without a store, in memory while the service runs."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from collectors.clickhouse.drivers import Database, Table, TableColumn
from prism.feedback.remarks import Act, Remark, Standing, clean_note, standing

KEEP_DAYS = 730  # retention: labelled data gains value with time
REMARKS = Table(
    name="remarks",
    columns=(
        TableColumn("id", "String"),
        TableColumn("case_id", "String"),
        TableColumn("at_ns", "Int64"),
        TableColumn("act", "LowCardinality(String)", "String"),
        TableColumn("told", "String", codec="ZSTD(1)"),
    ),
    order=("at_ns", "id"),
    time="at_ns",
    keep_s=KEEP_DAYS * 86_400,
)
MAX_REMARKS = 100_000  # remarks in memory: the newest


class Journal:
    """Remarks by case. Thread-safe. Methods raise StoreError; `unread` counts invalid rows."""

    def __init__(self, database: Database | None = None, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._database, self._clock, self._lock = database, clock, threading.Lock()
        self._known: dict[str, Remark] = {}
        self.unread = self.revision = 0
        if database is not None:
            database.create(REMARKS)
            self._load(database)

    def _load(self, database: Database) -> None:
        sql = "SELECT told FROM remarks ORDER BY at_ns DESC LIMIT {most:UInt64}"
        for told in reversed(list(database.query(sql, {"most": MAX_REMARKS}).get("told", ()))):
            try:
                one = Remark(**json.loads(told))
            except (ValueError, TypeError):
                self.unread += 1
                continue
            self._known[one.id] = one

    def add(self, case: str, act: Act, *, by: str, text: str = "", known: Mapping[str, Any] | None = None) -> Remark:
        """Store a remark; it is durable when this returns."""
        made = Remark(secrets.token_hex(8), case, act, self._clock(), by, clean_note(text), known or {})
        with self._lock:
            if self._database is not None:
                told = json.dumps(vars(made), allow_nan=False)
                row: dict[str, Sequence[Any]] = {
                    "id": [made.id],
                    "case_id": [case],
                    "at_ns": [made.at_ns],
                    "act": [act],
                    "told": [told],
                }
                self._database.insert(REMARKS, row, token=f"remarks {made.id}", again=False)
            self._known[made.id] = made
            while len(self._known) > MAX_REMARKS:
                del self._known[next(iter(self._known))]
            self.revision += 1
        return made

    def all(self) -> tuple[Remark, ...]:
        """List all remarks, oldest first."""
        return tuple(self._known.values())

    def of(self, case: str) -> Standing:
        """Summarise the remarks on a case."""
        return standing(one for one in self.all() if one.case == case)

    def standings(self) -> dict[str, Standing]:
        """Summarise the remarks of every case that has any."""
        by_case: dict[str, list[Remark]] = {}
        for one in self.all():
            by_case.setdefault(one.case, []).append(one)
        return {case: standing(own) for case, own in by_case.items()}

    def acknowledged(self) -> dict[str, str]:
        """Map the acknowledged cases to the severity that each had at that time."""
        found = self.standings()
        return {case: one.acknowledged.severity for case, one in found.items() if one.acknowledged is not None}
