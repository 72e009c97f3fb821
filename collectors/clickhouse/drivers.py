"""Open ClickHouse in this process or on a server, behind one protocol. The only user of the drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from collectors.clickhouse import store_folders
from collectors.clickhouse.schema import Columns
from collectors.clickhouse.tables import StoreError as StoreError
from collectors.clickhouse.tables import Table as Table
from collectors.clickhouse.tables import TableColumn as TableColumn


class Database(Protocol):
    """A database. Every method raises StoreError; all may be called from any thread."""

    where: str  # what was opened, without a password
    plain: bool  # an old server: the plain form of tables

    def create(self, table: Table) -> None:
        """Create a table, or bring one of an earlier version to this one, rows and all.

        Refuses one of a newer version, and one that somebody else changed.
        """

    def check(self, table: Table) -> None:
        """Refuses a table that is there, as `create` does, and changes nothing."""

    def registered(self, name: str) -> dict[str, int] | None:
        """What is known of a table that was created: `version`, `keep_s`, `partition_ns`; None of another."""

    def register(self, table: Table, *, keep_s: int | None = None) -> None:
        """Note the version of a table, and for how long its rows are kept."""

    def insert(self, table: Table, columns: Columns, *, token: str = "", again: bool = True, absent: bool = False) -> bool:
        """Insert rows, all or none; with the same token twice they are there once. Whether they were inserted now.

        `again=False` says that this token was never sent before, `absent` that its rows are not there, whatever the engine has
        noted of it; both spare asking. At most `MOST` rows, of one partition.
        """

    def query(self, sql: str, parameters: Mapping[str, Any] = {}) -> dict[str, NDArray[Any]]:
        """The columns of an answer, by name: numbers as they are, texts as objects. `parameters` fill `{name:Type}`."""

    def close(self) -> None:
        """Let go of it."""


def opened(where: str, *, make: bool = True) -> Database:
    """The database at a folder (`DIR` or `chdb:DIR`: embedded) or a server (`clickhouse://user:password@host:port/database`).

    Raises StoreError, which says who uses the folder, what the server refuses, and which package is missing; AbsentError
    without `make` where there is none yet. With `make`, a folder of something else is refused.
    """
    if "://" in where:
        from collectors.clickhouse.server import Server

        return Server(where, make=make)
    from collectors.clickhouse.embedded import Embedded

    folder = folder_of(where)
    if not store_folders.is_stored(folder):
        if not make:
            raise store_folders.absent(folder)
        store_folders.check_new(folder)
    return Embedded(folder)


def folder_of(where: str) -> str:
    """The folder of an embedded store. Raises StoreError where none is named: an empty one would be the current folder."""
    folder = where.removeprefix("chdb:")
    if not folder:
        raise StoreError(f"{where!r}: the folder is missing; is a shell variable not set?")
    return folder
