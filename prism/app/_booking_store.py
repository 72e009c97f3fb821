"""Save bookings in the store: names of jobs survive a restart and are available for past times."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from collectors.clickhouse.drivers import Database, StoreError, Table, TableColumn
from collectors.operations.logs import log_event
from prism.app.booking_sources import Names
from prism.inventory.bookings import MOST, Booking

DAY = 86_400
BOOKINGS = Table(
    name="bookings",
    columns=(
        TableColumn("id", "String"),
        TableColumn("version", "UInt64"),
        TableColumn("start_ns", "Int64"),
        TableColumn("told", "String", codec="ZSTD(1)"),
    ),
    order=("id",),
    time="start_ns",
    keep_s=90 * DAY,
    replacing="version",
)
EVERY_S = 10.0


class KeptBookings:
    """The bookings of a database. Methods raise StoreError; `unread` counts invalid rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._saved: dict[str, str] = {}
        self.unread = 0
        database.create(BOOKINGS)

    def load(self) -> list[Booking]:
        """Read the newest version of each booking."""
        found = []
        sql = "SELECT argMax(told, version) AS newest FROM bookings GROUP BY id"
        for text in self._database.query(sql).get("newest", ()):
            try:
                fields = json.loads(text)
                one = Booking(**{**fields, "hosts": tuple(fields["hosts"]), "endpoints": tuple(fields["endpoints"])})
            except (ValueError, TypeError, KeyError):
                self.unread += 1
                continue
            found.append(one)
            self._saved[_key(one)] = str(text)
        return found[-MOST:]

    def save(self, bookings: Iterable[Booking], version: int) -> None:
        """Save the bookings that changed."""
        days: dict[int, list[tuple[Booking, str]]] = {}
        for one in bookings:
            text = json.dumps(vars(one))
            if one.start_ns and self._saved.get(_key(one)) != text:
                days.setdefault(one.start_ns // BOOKINGS.partition_ns, []).append((one, text))
        for own in days.values():
            columns: dict[str, Sequence[Any]] = {
                "id": [_key(one) for one, _ in own],
                "version": [version] * len(own),
                "start_ns": [one.start_ns for one, _ in own],
                "told": [text for _, text in own],
            }
            token = hashlib.blake2s("\n".join(text for _, text in own).encode(), digest_size=16).hexdigest()
            self._database.insert(BOOKINGS, columns, token=f"bookings {token}", again=False)
            self._saved |= {_key(one): text for one, text in own}


def _key(one: Booking) -> str:
    return f"{one.source} {one.id} {one.start_ns}"


@contextmanager
def known_names(names: Names, database: Database) -> Iterator[None]:
    """Update bookings and save them in a database within the context. Raises StoreError at once."""
    kept, stop = KeptBookings(database), threading.Event()
    names.restore(kept.load())

    def save() -> None:
        try:
            kept.save(names.bookings(), time.time_ns())
        except StoreError as error:
            log_event("names not saved, trying again", level=logging.WARNING, error=error)

    def run() -> None:
        while not stop.wait(EVERY_S):
            save()

    thread = threading.Thread(target=run, name="prism-names-kept", daemon=True)
    with names.running():
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            save()
