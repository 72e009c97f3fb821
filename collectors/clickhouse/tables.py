"""Declare tables of the store once; statements that create, fill and check them follow from the declaration.

A server from 22 on and the embedded engine get the full form: codecs, LowCardinality, time to live, deduplication by token. An
older one (Debian's 18.16) gets the plain form, which stores the batch number beside each row instead.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectors.clickhouse.store_error import StoreError as StoreError

MIN_VERSION, FULL_VERSION = (18, 12), (22, 3)  # versions of the server: the minimum, and the one with all features
PARTITIONS = 50  # of a table, for any retention (akvorado)
WINDOW = 10_000  # batches whose tokens a table remembers
WEEK = 7 * 86_400  # tokens are remembered this long, for a server that was unreachable
MERGED = 1 << 30  # octets: maximum size of merged parts; queries have a time range, and parts know theirs
BATCH, COUNT = "batch", "records"
REPLICATED = ("", "Replicated", "Shared")  # prefixes of a MergeTree: rows on one server, on replicas, in the cloud
NUMBER = re.compile(r"U?Int(?:8|16|32|64)|Float(?:32|64)")
PLACEHOLDER = re.compile(r"\{(\w+):[\w()., ]+\}")


@dataclass(frozen=True)
class TableColumn:
    """A column: type in the full form, type in the plain form if different, codec, schema version that added it.

    A column with an `alias` is computed on demand, by name only, and never inserted.
    """

    name: str
    type: str
    plain: str = ""
    codec: str = ""
    since: int = 1
    alias: str = ""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the array type of its values; texts are objects. Raises ValueError for a type without an array."""
        found = NUMBER.search(self.type)
        if found is None and "String" not in self.type:
            raise ValueError(f"column {self.name}: {self.type} is not a type of ours")
        return np.dtype(found[0].lower() if found and "String" not in self.type else object)


@dataclass(frozen=True)
class Table:
    """A table. `order` are expressions; `replacing` is the version column of rows that replace those of equal order.

    `time` is a column of ns since the epoch that partitions rows, each partition `keep_s` / `PARTITIONS` long, and expires them
    after `keep_s`; without it they stay. `summing` is the table whose rows it sums, by `bucket_ns` of their time, `records` of
    them: rows of equal order are added up, as the columns' types define, in the full form; queries must do so in any case.
    """

    name: str
    columns: tuple[TableColumn, ...]
    order: tuple[str, ...]
    time: str = ""
    keep_s: int = 0
    replacing: str | None = None
    summing: Table | None = None
    bucket_ns: int = 0
    version: int = 1

    @property
    def partition_ns(self) -> int:
        """Return the length of a partition, ns: whole minutes; 0 without time."""
        return max(1, -(-self.keep_s // (60 * PARTITIONS))) * 60 * 10**9 if self.time and self.keep_s else 0

    def kept(self, *, plain: bool, version: int | None = None) -> tuple[TableColumn, ...]:
        """List the columns to insert, optionally of an earlier version; in the plain form `batch` is one of them."""
        known = tuple(c for c in self.columns if not c.alias and c.since <= (version or self.version))
        add = plain and all(c.name != BATCH for c in known)
        return (*known, TableColumn(BATCH, "UInt64")) if add else known

    def type_of(self, column: TableColumn, *, plain: bool) -> str:
        """Return the type of a column in a form."""
        return column.plain or column.type if plain else column.type


@dataclass(frozen=True)
class Cluster:
    """A cluster: its name in the servers' settings, which may be a macro."""

    name: str = "{cluster}"


def plain_form(version: tuple[int, ...]) -> bool:
    """Check whether a server of a version gets the plain form. Raises StoreError if it is too old for that too."""
    if version < MIN_VERSION:
        raise StoreError(
            f"ClickHouse {'.'.join(map(str, version))} is too old; "
            f"the oldest supported version is {'.'.join(map(str, MIN_VERSION))}"
        )
    return version < FULL_VERSION


def refuse_newer(table: Table, version: int, store: str) -> None:
    """Raise StoreError if a table has a newer schema than this program."""
    if version > table.version:
        known_here = f"has schema {version}, this version knows {table.version}; use a newer Prism"
        raise StoreError(f"{store}: table {table.name} {known_here}")


def refuse_unparted(table: Table, partition_ns: int, store: str) -> None:
    """Raise StoreError if the recorded partitions of a table have no length."""
    if table.partition_ns and partition_ns <= 0:
        noted = f"the partition of table {table.name} has an invalid length of {partition_ns} ns"
        raise StoreError(f"{store}: {noted}: it was changed from outside")


def create(table: Table, *, plain: bool, cluster: Cluster | None = None, settings: Mapping[str, int] = {}) -> tuple[str, ...]:
    """Build the statements that create a table; with a cluster, the replicated table and the distributed one.

    `settings` are for rows by time that are neither replaced nor summed, in the full form.
    """
    columns = ",\n  ".join(_column(table, c, plain=plain) for c in (*table.kept(plain=plain), *_aliases(table, plain=plain)))
    name = f"{table.name}_local" if cluster else table.name
    everywhere = f" ON CLUSTER '{cluster.name}'" if cluster else ""
    lines = [f"CREATE TABLE IF NOT EXISTS {name}{everywhere} (\n  {columns}\n)", f"ENGINE = {_engine(table, plain, cluster)}"]
    if table.partition_ns:
        lines.append(f"PARTITION BY intDiv({table.time}, {table.partition_ns})")
    lines.append(f"ORDER BY ({', '.join(table.order)})")
    if not plain:
        if table.keep_s and table.time:
            lines.append(f"TTL {ttl(table, table.keep_s)}")
        lines.append(f"SETTINGS {_settings(table, cluster, settings)}")
    made = ["\n".join(lines)]
    if cluster:
        spread = f"Distributed('{cluster.name}', currentDatabase(), '{name}', {_shard(table)})"
        made.append(f"CREATE TABLE IF NOT EXISTS {table.name}{everywhere} AS {name}\nENGINE = {spread}")
    return tuple(made)


def column_additions(table: Table, version: int, *, plain: bool, cluster: Cluster | None = None) -> tuple[tuple[str, str], ...]:
    """Build the statements that add new columns to a table of an earlier version; existing rows get defaults.

    On a cluster, the replicated table comes first, then the distributed one.
    """
    new = [c for c in table.columns if version < c.since <= table.version]
    if cluster is None:
        return tuple((c.name, f"ALTER TABLE {table.name} ADD COLUMN {_column(table, c, plain=plain)}") for c in new)
    names = (f"{name} ON CLUSTER '{cluster.name}'" for name in (f"{table.name}_local", table.name))
    add = "ADD COLUMN IF NOT EXISTS"
    return tuple((c.name, f"ALTER TABLE {name} {add} {_column(table, c, plain=plain)}") for name in names for c in new)


def ttl(table: Table, keep_s: int) -> str:
    """Build the expression of the expiry of a row."""
    return f"toDateTime(intDiv({table.time}, 1000000000)) + INTERVAL {int(keep_s)} SECOND"


def batch_number(token: str) -> int:
    """Return the number that represents a token beside rows."""
    return int.from_bytes(hashlib.blake2b(token.encode(), digest_size=8).digest(), "big")


def fill_parameters(sql: str, parameters: Mapping[str, Any]) -> str:
    """Fill the `{name:Type}` of a query with literals, so that values cannot inject SQL.

    Accepts numbers, texts, and sequences of them as `(a, b)` for IN; an empty sequence matches nothing. Works on every engine;
    old ones have no parameters. Raises KeyError for a missing one.
    """
    return PLACEHOLDER.sub(lambda found: literal(parameters[found[1]]), sql)


def literal(value: Any) -> str:
    """Format a value as SQL. Raises TypeError for a type without literals."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, int | np.integer | float | np.floating):
        text = str(int(value)) if isinstance(value, int | np.integer) else repr(float(value))
        return f"({text})" if text.startswith("-") else text  # two minuses would start a comment
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0") + "'"
    if isinstance(value, Sequence | np.ndarray | set | frozenset) and not isinstance(value, bytes):
        return "(" + (", ".join(literal(v) for v in value) or "NULL") + ")"
    raise TypeError(f"no literal of {type(value).__name__}")


def _column(table: Table, column: TableColumn, *, plain: bool) -> str:
    text = f"{column.name} {table.type_of(column, plain=plain)}"
    if column.alias:
        return f"{text} ALIAS {column.alias}"
    return text if plain or not column.codec else f"{text} CODEC({column.codec})"


def _aliases(table: Table, *, plain: bool) -> tuple[TableColumn, ...]:
    return tuple(c for c in table.columns if c.alias and not (plain and c.plain == "-"))


def engine(table: Table, *, plain: bool) -> str:
    """Return the kind of MergeTree: rows of equal order are kept, replaced or summed."""
    return "ReplacingMergeTree" if table.replacing else "AggregatingMergeTree" if table.summing and not plain else "MergeTree"


def _engine(table: Table, plain: bool, cluster: Cluster | None) -> str:
    replicas = ("'/clickhouse/tables/{shard}/{database}/{table}'", "'{replica}'") if cluster else ()
    of = (*replicas, table.replacing) if table.replacing else replicas
    return f"{'Replicated' if cluster else ''}{engine(table, plain=plain)}({', '.join(of)})"


def _settings(table: Table, cluster: Cluster | None, settings: Mapping[str, int]) -> str:
    """Return the settings; fsync, so that acknowledged rows survive a power cut."""
    known: dict[str, int] = {"ttl_only_drop_parts": 1} if table.keep_s and table.time else {}
    if table.time and not (table.summing or table.replacing):
        known |= {"max_bytes_to_merge_at_max_space_in_pool": MERGED} | dict(settings)
    known |= {"fsync_after_insert": 1, "fsync_part_directory": 1}
    if cluster:
        known |= {"replicated_deduplication_window": WINDOW, "replicated_deduplication_window_seconds": WEEK}
    else:
        known |= {"non_replicated_deduplication_window": WINDOW}
    return ",\n  ".join(f"{name} = {value}" for name, value in known.items())


def _shard(table: Table) -> str:
    """Choose the shard: one per batch, where its token is known; rows that replace each other must share a shard."""
    if any(c.name == BATCH for c in table.columns):
        return f"intHash64({BATCH})"
    return f"cityHash64({', '.join(table.order)})"
