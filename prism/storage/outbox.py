"""Save notifications in the store before they are sent, with their id and the state of their delivery.

A row is a notification at one attempt; the newest row of an id counts. Rows are kept for 30 days.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from collectors.clickhouse.drivers import Database, Table, TableColumn
from prism.alerts.notifications import Notification, from_json

DAYS = 30
OUTBOX = Table(
    name="outbox",
    columns=(
        TableColumn("id", "String"),
        TableColumn("version", "UInt64"),
        TableColumn("made_ns", "Int64"),
        TableColumn("receiver", "LowCardinality(String)", "String"),
        TableColumn("state", "LowCardinality(String)", "String"),
        TableColumn("told", "String", codec="ZSTD(1)"),
    ),
    order=("id",),
    time="made_ns",
    keep_s=DAYS * 86_400,
    replacing="version",
)


class Outbox:
    """The notifications of a database. Methods raise StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.unread = 0  # invalid rows
        database.create(OUTBOX)

    def load(self) -> list[Notification]:
        """Return all notifications in their last state, in the order of creation."""
        sql = "SELECT argMax(told, version) AS newest FROM outbox GROUP BY id"
        found = []
        for text in self._database.query(sql).get("newest", ()):
            try:
                found.append(from_json(json.loads(text)))
            except (ValueError, TypeError, KeyError, AttributeError):
                self.unread += 1
        return sorted(found, key=lambda one: (one.made_ns, one.number, one.id))

    def newest(self, max_notifications: int) -> list[Notification]:
        """Return the newest notifications, at most `max_notifications`, newest first."""
        sql = "SELECT argMax(told, version) AS newest, max(made_ns) AS made FROM outbox GROUP BY id"
        sql += " ORDER BY made DESC, id LIMIT {most:UInt64}"
        found = []
        for text in self._database.query(sql, {"most": max_notifications}).get("newest", ()):
            try:
                found.append(from_json(json.loads(text)))
            except (ValueError, TypeError, KeyError, AttributeError):
                self.unread += 1
        return found

    def save(self, notifications: Iterable[Notification]) -> None:
        """Save notifications in their present state; unchanged ones are not written again."""
        days: dict[int, list[Notification]] = {}
        for one in notifications:
            days.setdefault(one.made_ns // OUTBOX.partition_ns, []).append(one)
        for batch in days.values():
            columns: dict[str, Sequence[Any]] = {
                "id": [one.id for one in batch],
                "version": [version(one) for one in batch],
                "made_ns": [one.made_ns for one in batch],
                "receiver": [one.receiver for one in batch],
                "state": [one.state for one in batch],
                "told": [json.dumps(one.to_json(), separators=(",", ":")) for one in batch],
            }
            token = " ".join(f"{one.id}:{version(one)}" for one in batch).encode()
            self._database.insert(OUTBOX, columns, token=hashlib.blake2s(token).hexdigest())


def version(notification: Notification) -> int:
    """Order two states of a notification: more attempts first, then the final state."""
    return 2 * notification.tries + (notification.state != "waiting")
