"""Create, migrate and check tables, and check whether a batch was inserted; for both kinds of database."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.clickhouse import tables
from collectors.clickhouse.tables import BATCH, COUNT, Cluster, StoreError, Table, TableColumn

Columns = Mapping[str, NDArray[Any] | Sequence[Any]]
MAX_ROWS = 1_000_000  # rows of one insert: one block, hence one part, stored completely or not at all
DISTRIBUTED = "Distributed"  # engine of a table over the tables of a cluster
REGISTRY = Table(
    "prism_tables",
    (
        TableColumn("name", "String"),
        TableColumn("version", "UInt32"),
        TableColumn("keep_s", "Int64"),
        TableColumn("partition_ns", "Int64"),
        TableColumn("at_ns", "Int64"),
    ),
    ("name",),
    replacing="at_ns",
)


class Tables(ABC):
    """A database without its engine: `where`, `plain`, `_run` and `_put` come from the engine."""

    where: str
    plain: bool
    settings: Mapping[str, int] = {}  # of tables of rows by time

    @abstractmethod
    def _run(self, sql: str) -> dict[str, NDArray[Any]]:
        """Return the columns of an answer."""

    @abstractmethod
    def _put(self, table: Table, columns: dict[str, Any], token: str, *, noted: bool) -> None:
        """Insert rows, all or none; or none if the engine `noted` the token before."""

    def query(self, sql: str, parameters: Mapping[str, Any] = {}) -> dict[str, NDArray[Any]]:
        """See `Database`."""
        return self._run(tables.fill_parameters(sql, parameters))

    def create(self, table: Table) -> None:
        """See `Database`."""
        if not self._actual(REGISTRY.name):
            self._run(tables.create(REGISTRY, plain=self.plain)[0])
        known, there = self.registered(table.name), self._actual(table.name)
        version = int(known["version"]) if known else table.version
        if not there:
            tables.refuse_newer(table, version, self.where)
            self._run(tables.create(table, plain=self.plain, settings=self.settings)[0])
            self.register(table)
            return
        self.check(table)
        if version < table.version:
            cluster = Cluster() if self._kept_by(table.name)[0] == DISTRIBUTED else None
            for column, statement in tables.column_additions(table, version, plain=self.plain, cluster=cluster):
                if column not in there or cluster:  # an interrupted earlier try may have added it
                    self._run(statement)
        if known is None or version < table.version:
            self.register(table, keep_s=int(known["keep_s"]) if known else None)

    def check(self, table: Table) -> None:
        """See `Database`."""
        known = self.registered(table.name)
        version = known["version"] if known else table.version
        tables.refuse_newer(table, version, self.where)
        self._check(table, self._actual(table.name), version)
        (engine, partitions), wanted = self._kept_by(table.name), tables.engine(table, plain=self.plain)
        if engine not in (DISTRIBUTED, *(f"{kind}{wanted}" for kind in tables.REPLICATED)):
            self._changed(f"table {table.name}", engine, wanted)
        length = known["partition_ns"] if known else table.partition_ns
        tables.refuse_unparted(table, length, self.where)
        if engine != DISTRIBUTED and length and partitions != f"intDiv({table.time},{length})":
            self._changed(f"the partition of table {table.name}", partitions or "all of it", f"intDiv({table.time},{length})")

    def registered(self, name: str) -> dict[str, int] | None:
        """Return version, keep_s and partition_ns of a created table; None for others."""
        sql = "SELECT version, keep_s, partition_ns FROM prism_tables WHERE name = {name:String} ORDER BY at_ns DESC LIMIT 1"
        found = self.query(sql, {"name": name}) if self._actual(REGISTRY.name) else {}
        return {key: int(values[0]) for key, values in found.items()} if len(found.get("version", ())) else None

    def register(self, table: Table, *, keep_s: int | None = None) -> None:
        """Record the version of a table, and the retention of its rows."""
        known = self.registered(table.name)
        partition = known["partition_ns"] if known else table.partition_ns
        said = self.query(f"SELECT max(at_ns) AS last FROM {REGISTRY.name} WHERE name = {{name:String}}", {"name": table.name})
        at = max(time.time_ns(), int(said["last"][0]) + 1 if known else 0)  # the last record wins, even if this clock is behind
        row = (table.name, table.version, table.keep_s if keep_s is None else keep_s, partition, at)
        self.insert(REGISTRY, {c.name: [value] for c, value in zip(REGISTRY.columns, row, strict=True)})

    def insert(self, table: Table, columns: Columns, *, token: str = "", again: bool = True, absent: bool = False) -> bool:
        """See `Database`."""
        kept = table.kept(plain=self.plain)
        rows = {c.name: columns[c.name] for c in kept if c.name in columns}
        counts = {len(values) for values in rows.values()}
        if missing := {c.name for c in kept} - set(columns) - {BATCH}:
            raise ValueError(f"table {table.name}: missing column {', '.join(sorted(missing))}")
        if len(counts) != 1 or max(counts) > MAX_ROWS:
            raise ValueError(
                f"table {table.name}: columns have {sorted(counts)} rows; they need equal lengths of at most {MAX_ROWS}"
            )
        (count,) = counts
        if not count:
            return False
        there: bool | None = None
        numbered = any(c.name == BATCH for c in kept)
        if token and again:
            self._settled(token)
            there = not absent and (self._has(table, rows, count, token) if numbered else self._added(table, rows))
            if there:
                return False
        if numbered:
            rows[BATCH] = np.broadcast_to(np.uint64(tables.batch_number(token) if token else 0), count)
        # a MergeTree without replicas records a token before the rows, even if they fail
        noted = bool(token) and not (self.plain or table.replacing) and (there is None or self._replicated(table))
        self._put(table, {c.name: rows[c.name] for c in kept}, token, noted=noted)
        return True

    def _has(self, table: Table, rows: Mapping[str, Any], count: int, token: str) -> bool:
        """Check whether a batch is in the table. Raises StoreError if only a part of it is."""
        number = tables.batch_number(token)
        sql, parameters = f"SELECT count() AS n FROM {table.name} WHERE {BATCH} = {{number:UInt64}}", {"number": number}
        if table.time:
            times = np.asarray(rows[table.time])
            sql += f" AND {table.time} >= {{first:Int64}} AND {table.time} <= {{last:Int64}}"
            parameters |= {"first": int(times.min()), "last": int(times.max())}
        found = int(self.query(sql, parameters)["n"][0])
        if found not in (0, count) and not (table.replacing or table.summing):
            raise StoreError(
                f"{self.where}: table {table.name} has {found} of {count} rows of batch {token}: it was changed from outside"
            )
        return found > 0

    def _added(self, table: Table, rows: Mapping[str, Any]) -> bool | None:
        """Check whether a table of sums contains given rows, whose source rows exist.

        Compares the sums with the source: nothing is missing (True), or exactly these rows (False). None for other differences
        and other tables.
        """
        if table.summing is None or self._replicated(table):
            return None
        times, of = np.asarray(rows[table.time]), table.summing
        common = {c.name for c in of.columns} - set(table.order)
        names = [c.name for c in table.columns if c.name in common and not c.alias]
        sums = ", ".join(f"sum({name}) AS {name}" for name in names)
        within = {"first": int(times.min()), "last": int(times.max()) + table.bucket_ns - 1}
        lacking = [0] * (1 + len(names))
        for counted, kept, sign in (("count()", of, 1), (f"sum({COUNT})", table, -1)):
            asked = f"SELECT {counted} AS {COUNT}, {sums} FROM {kept.name}"
            found = self.query(f"{asked} WHERE {kept.time} >= {{first:Int64}} AND {kept.time} <= {{last:Int64}}", within)
            lacking = [n + sign * int(found[name][0]) for n, name in zip(lacking, (COUNT, *names), strict=True)]
        own = [int(np.sum(rows[name], dtype=np.uint64)) for name in (COUNT, *names)]
        if any((n - added) % (1 << 64) for n, added in zip(lacking, own, strict=True)):
            return None if any(lacking) else True
        return False

    def _replicated(self, table: Table) -> bool:
        """Check whether the engine records token and rows atomically."""
        return self._kept_by(table.name)[0].startswith((DISTRIBUTED, *filter(None, tables.REPLICATED)))

    def _settled(self, token: str) -> None:  # noqa: B027 - an engine in this process leaves no insert going on
        """Raise StoreError while an insert with this token is running."""

    def _actual(self, name: str) -> dict[str, str]:
        sql = """SELECT name, type, default_kind FROM system.columns
            WHERE database = currentDatabase() AND table = {name:String}"""
        found = self.query(sql, {"name": name})
        if not found:
            return {}
        return {n: t for n, t, kind in zip(found["name"], found["type"], found["default_kind"], strict=True) if kind != "ALIAS"}

    def _kept_by(self, name: str) -> tuple[str, str]:
        """Return the engine of a table, and its partition key."""
        sql = "SELECT engine, partition_key FROM system.tables WHERE database = currentDatabase() AND name = {name:String}"
        found = self.query(sql, {"name": name})
        return str(found["engine"][0]), str(found["partition_key"][0]).replace(" ", "")

    def _check(self, table: Table, there: Mapping[str, str], version: int) -> None:
        """Raise StoreError unless the columns exist with their types. `there`: types by name."""
        kept = table.kept(plain=self.plain, version=version)
        ours = [(there.get(c.name), c.plain) for c in kept if c.plain]
        if not self.plain and ours and all(found == plain for found, plain in ours):
            form = f"has the form for servers before {'.'.join(map(str, tables.FULL_VERSION))}"
            raise StoreError(f"{self.where}: table {table.name} {form}; after an upgrade of the server use a new database")
        for column in kept:
            wanted, found = table.type_of(column, plain=self.plain), there.get(column.name)
            if found is None:
                raise StoreError(f"{self.where}: table {table.name} has no column {column.name}: it was changed from outside")
            if found.replace(" ", "") != wanted.replace(" ", ""):
                self._changed(f"column {table.name}.{column.name}", found, wanted)

    def _changed(self, what: str, found: str, wanted: str) -> None:
        raise StoreError(f"{self.where}: {what} is {found}, expected {wanted}: it was changed from outside")
