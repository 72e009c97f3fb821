"""ClickHouse on a server, over its native protocol with columns as NumPy arrays: one client per thread."""

from __future__ import annotations

import logging
import threading
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from collectors.clickhouse._text_columns import read_texts_as_objects, texts
from collectors.clickhouse.engine_errors import absent_error, store_error
from collectors.clickhouse.schema import MAX_ROWS, Tables
from collectors.clickhouse.server_address import mask_password, parse_url
from collectors.clickhouse.tables import StoreError, Table, batch_number, plain_form

UNKNOWN_DATABASE = 81


class Server(Tables):
    """A server, or a cluster behind one. Raises StoreError if it is unreachable, refuses, or is too old."""

    def __init__(self, url: str, *, make: bool = True) -> None:
        self._address = parse_url(url)
        self.where = mask_password(url)
        self._local = threading.local()
        self._clients: list[Any] = []
        self._lock, self._closed = threading.Lock(), False
        try:
            self.version, self.plain = self._greeted(make=make)
        except StoreError:
            self.close()
            raise

    def close(self) -> None:
        """See `Database`."""
        with self._lock:
            self._closed = True
            for client in self._clients:
                client.disconnect()
            self._clients.clear()

    def _greeted(self, *, make: bool) -> tuple[tuple[int, ...], bool]:
        """Get the server's version and form; create a missing database, or refuse."""
        try:
            self._run("SELECT 1 AS one")
        except StoreError as error:
            if f"(code {UNKNOWN_DATABASE})" not in str(error):
                raise
            if not make:
                raise absent_error(self.where) from None
            first = self._client(database="default")
            self._asked(first, lambda: first.execute(f"CREATE DATABASE IF NOT EXISTS `{self._address['database']}`"))
            first.disconnect()
        said = str(self._run("SELECT version() AS version")["version"][0])
        version = tuple(int(part) for part in said.split(".")[:3] if part.isdigit())
        try:
            return version, plain_form(version)
        except StoreError as error:
            raise StoreError(f"{self.where}: {error}") from None

    def _client(self, *, numpy: bool = True, **changed: Any) -> Any:
        try:
            from clickhouse_driver import Client, errors
        except ImportError:
            raise StoreError("the package clickhouse-driver is missing; install it: pip install 'llm-prism[server]'") from None
        logging.getLogger("clickhouse_driver").setLevel(logging.CRITICAL)  # it logs the errors that it raises, with tracebacks
        read_texts_as_objects()
        settings = {"use_numpy": numpy, "max_query_size": 1 << 26, "insert_block_size": MAX_ROWS}
        try:
            client = Client(**(self._address | changed), client_name="prism", settings=settings)
        except errors.UnknownCompressionMethod:
            kind = self._address["compression"]
            package = f"clickhouse-driver[{kind.removesuffix('hc')}]"
            raise StoreError(
                f"{self.where}: compression={kind} needs a package that is missing; install it: pip install '{package}'"
            ) from None
        _note_accepted(client)
        return client

    def _mine(self, *, numpy: bool = True) -> Any:
        name = "arrays" if numpy else "lists"
        client = getattr(self._local, name, None)
        if client is None:
            client = self._client(numpy=numpy)
            setattr(self._local, name, client)
            with self._lock:
                self._clients.append(client)
        if self._closed:
            raise StoreError(f"{self.where}: the store is closed")
        return client

    def _asked(self, client: Any, ask: Any) -> Any:
        from clickhouse_driver import errors

        try:
            return ask()
        except errors.ServerException as error:
            raise store_error(error, self.where, error.code) from None
        except (errors.Error, OSError, EOFError) as error:
            client.disconnect()
            late = isinstance(error, errors.SocketTimeoutError | TimeoutError)
            said = self._late(client) if late else " ".join(str(error).split()) or type(error).__name__
            raise StoreError(f"{self.where}: {said}", transient=True) from None

    def _late(self, client: Any) -> str:
        """Describe a timeout, for which the driver has no text."""
        at, connect_s, answer_s = (self._address[name] for name in ("host", "connect_timeout", "send_receive_timeout"))
        at = f"{at}:{self._address['port']}"
        if client.answered:
            return f"no answer within {answer_s:g} s"
        if client.accepted:
            hint = "the server may be busy, or this is the port of another service (8123 is ClickHouse HTTP, which is not used)"
            return f"{at} accepted the connection but did not answer within {answer_s:g} s: {hint}"
        return f"no connection to {at} within {connect_s:g} s; check address, port and firewall"

    def _run(self, sql: str) -> dict[str, NDArray[Any]]:
        client = self._mine()
        answer = self._asked(client, lambda: client.execute(sql, columnar=True, with_column_types=True))
        if not isinstance(answer, tuple):
            return {}
        columns, kinds = answer
        if not len(columns):
            return {name: np.zeros(0, object if "String" in kind else np.int64) for name, kind in kinds}
        return {name: _received(column, kind) for (name, kind), column in zip(kinds, columns, strict=True)}

    def _put(self, table: Table, columns: dict[str, Any], token: str, *, noted: bool) -> None:
        known, names = {c.name: c for c in table.kept(plain=self.plain)}, ", ".join(columns)
        kinds = {name: table.type_of(known[name], plain=self.plain) for name in columns}
        rows: list[Any] = [_sent(values, known[name].dtype, kinds[name]) for name, values in columns.items()]
        wrapped = any("(" in kind.removeprefix("LowCardinality(") for kind in kinds.values())
        client = self._mine(numpy=not wrapped)  # the driver's arrays do not support SimpleAggregateFunction, its lists do
        rows = [values.tolist() for values in rows] if wrapped else rows
        settings: dict[str, Any] = {"min_insert_block_size_rows": MAX_ROWS, "min_insert_block_size_bytes": 0}
        if not self.plain:
            settings |= {"async_insert": 0, "insert_distributed_sync": 1}
            settings |= {"insert_deduplication_token": token} if noted else {"insert_deduplicate": 0}
        ask = {"columnar": True, "settings": settings, "query_id": _query_id(table, token) if token else None}
        client.receive_sample_block = lambda: self._same(table, type(client).receive_sample_block(client))
        self._asked(client, lambda: client.execute(f"INSERT INTO {table.name} ({names}) VALUES", rows, **ask))

    def _same(self, table: Table, block: Any) -> Any:
        """Check the columns that the server expects: the driver would silently truncate numbers to another type."""
        if block:
            wide = {c.name: c.type for c in table.columns}
            there = {n: wide[n] if wide.get(n) == f"LowCardinality({kind})" else kind for n, kind in block.columns_with_types}
            self._check(table, there if not self.plain else dict(block.columns_with_types), table.version)
        return block

    def _settled(self, token: str) -> None:
        """Check for a running insert of a disconnected client; its rows may appear later."""
        sql = "SELECT count() AS n FROM system.processes WHERE query_id LIKE {ended:String}"
        if int(self.query(sql, {"ended": f"%-{batch_number(token):x}"})["n"][0]):
            raise StoreError(f"{self.where}: an earlier insert of batch {token} is still running", transient=True)


def _note_accepted(client: Any) -> None:
    """Make a client record the progress of its newest connection, which the driver's errors do not contain."""
    link, client.accepted, client.answered = client.connection, False, False
    create, hear = link._create_socket, link.receive_hello

    def created(*address: Any) -> Any:
        client.accepted = client.answered = False
        made = create(*address)
        client.accepted = True
        return made

    def heard() -> Any:
        said = hear()
        client.answered = True
        return said

    link._create_socket, link.receive_hello = created, heard


def _query_id(table: Table, token: str) -> str:
    """Build the id of an insert; a server does not start a second insert with the same id."""
    return f"prism-{table.name}-{batch_number(token):x}"


def _sent(values: Any, kind: np.dtype[Any], kept: str) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and kind.hasobject and values.strides == (0,) and len(values):
        values = pa.DictionaryArray.from_arrays(np.zeros(len(values), np.int32), values[:1])
    if isinstance(values, pa.DictionaryArray):
        if kept == "String":
            return np.asanyarray(texts(values))
        return np.asarray(values.dictionary.to_numpy(zero_copy_only=False)[values.indices.to_numpy()])
    return np.array([*values, None], object)[:-1] if kind.hasobject else np.asarray(values, kind)


def _received(values: Any, kind: str) -> NDArray[Any]:
    if "String" in kind and values.dtype != object:
        return np.array([*values.tolist(), None], object)[:-1]  # otherwise numpy makes texts of fixed width
    return np.asarray(values)
