"""Keep templates of lines from healthy runs in the store. They are no evidence of a failure.

A row is a template of a line. A template is written again whenever it recurs; templates that no longer occur are dropped after
`DAYS`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from collectors.clickhouse.drivers import Database, Table, TableColumn
from prism.logs.parsing.iterations import Mark
from prism.logs.parsing.log_scanner import Event
from prism.logs.patterns.healthy_lines import MAX_CHARACTERS, MAX_TEMPLATES, Healthy, learn_texts
from prism.storage.live_state import State

DAYS = 730
STOPS = ("hang", "crash")
TEMPLATES = Table(
    name="healthy_logs",
    columns=(
        TableColumn("id", "String"),
        TableColumn("at_ns", "Int64"),
        TableColumn("version", "UInt64"),
        TableColumn("told", "String", codec="ZSTD(1)"),
    ),
    order=("id",),
    time="at_ns",
    keep_s=DAYS * 86_400,
    replacing="version",
)


class HealthyStore:
    """Templates of a database. Methods raise StoreError; `unread` counts invalid rows."""

    def __init__(self, database: Database, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._database, self._clock = database, clock
        self.unread = 0
        database.create(TEMPLATES)

    def load(self) -> Healthy:
        """Load the newest `MOST` templates; `runs` is the highest run count of a template."""
        known = self._rows()
        return Healthy(tuple(known), max(known.values(), default=0))

    def _rows(self) -> dict[str, int]:
        """Return the templates, each with its number of runs."""
        sql = "SELECT argMax(told, version) AS newest, max(version) AS last FROM healthy_logs GROUP BY id"
        sql += " ORDER BY last DESC, id LIMIT {most:UInt64}"
        found: dict[str, int] = {}
        for told in self._database.query(sql, {"most": MAX_TEMPLATES}).get("newest", ()):
            try:
                row = json.loads(told)
                found[str(row["template"])[:MAX_CHARACTERS]] = int(row["runs"])
            except (ValueError, TypeError, KeyError):
                self.unread += 1
        return found

    def learn(self, events: Iterable[Event]) -> Healthy:
        """Add the lines of one healthy run; return all templates."""
        before, texts = self._rows(), [event.text for event in events]
        learnt = learn_texts(texts, Healthy(tuple(before), 0))
        drain, now = learnt.drain(), self._clock()
        own = {str(one)[:MAX_CHARACTERS] for text in texts if (one := drain.match(text)) is not None}
        told = [json.dumps({"template": one, "runs": before.get(one, 0) + 1}) for one in sorted(own)]
        columns: dict[str, Sequence[Any]] = {
            "id": [hashlib.blake2s(one.encode(), digest_size=8).hexdigest() for one in sorted(own)],
            "at_ns": [now] * len(own),
            "version": [now] * len(own),
            "told": told,
        }
        if own:
            self._database.insert(TEMPLATES, columns, token=f"healthy_logs {now}", again=False)
        return self.load()


def stopped(state: State, marks: Iterable[Sequence[Mark]]) -> str:
    """Describe the first hang or crash in the store during a run; "" if there is none or times are unknown.

    `marks`: progress lines of its streams. A run that ended in a hang or crash is not healthy, whatever its logs contain.
    """
    times = [mark.time_ns for own in marks for mark in own if mark.time_ns is not None]
    if not times:
        return ""
    found = (case for case in state.cases(min(times)) if case.finding.kind in STOPS and case.finding.start_ns <= max(times))
    return next((f"{case.finding.kind} of job {case.finding.job} (finding {case.id})" for case in found), "")
