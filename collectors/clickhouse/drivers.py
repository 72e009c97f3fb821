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
    """A database. Every method raises StoreError and is thread-safe."""

    where: str  # address without a password
    plain: bool  # plain form of tables, for an old server

    def create(self, table: Table) -> None:
        """Create a table, or migrate an earlier version with its rows.

        Refuses a newer version, and a table that somebody else changed.
        """

    def check(self, table: Table) -> None:
        """Refuse an existing table like `create`, without changes."""

    def registered(self, name: str) -> dict[str, int] | None:
        """Return `version`, `keep_s` and `partition_ns` of a created table; None for others."""

    def register(self, table: Table, *, keep_s: int | None = None) -> None:
        """Record the version of a table, and the retention of its rows."""

    def insert(self, table: Table, columns: Columns, *, token: str = "", again: bool = True, absent: bool = False) -> bool:
        """Insert rows, all or none; rows with the same token are inserted once. Returns whether they were inserted now.

        `again=False`: this token was never sent before. `absent`: its rows are not in the table, whatever the engine recorded.
        Both save a query. At most `MOST` rows, of one partition.
        """

    def query(self, sql: str, parameters: Mapping[str, Any] = {}) -> dict[str, NDArray[Any]]:
        """Return the columns of an answer by name: numbers as they are, texts as objects. `parameters` fill `{name:Type}`."""

    def close(self) -> None:
        """Close it."""


def opened(store: str, *, make: bool = True) -> Database:
    """Open a folder (`DIR` or `chdb:DIR`: embedded) or a server (`clickhouse://user:password@host:port/database`).

    Raises StoreError with the process that uses the folder, the server's refusal, or the missing package; AbsentError without
    `make` if the database does not exist. With `make`, a folder with other content is refused.
    """
    if "://" in store:
        from collectors.clickhouse.server import Server

        return Server(store, make=make)
    from collectors.clickhouse.embedded import Embedded

    folder = folder_of(store)
    if not store_folders.is_stored(folder):
        if not make:
            raise store_folders.absent(folder)
        store_folders.check_new(folder)
    return Embedded(folder)


def folder_of(store: str) -> str:
    """Return the folder of an embedded store. Raises StoreError for an empty name, which would be the current folder."""
    folder = store.removeprefix("chdb:")
    if not folder:
        raise StoreError(f"{store!r}: the folder is missing; is a shell variable not set?")
    return folder
