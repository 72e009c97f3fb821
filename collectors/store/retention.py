"""Change the retention of an existing store; delete old rows on servers without time to live."""

from __future__ import annotations

from dataclasses import dataclass, replace

from collectors.clickhouse import tables
from collectors.clickhouse.drivers import Database
from collectors.clickhouse.tables import Cluster, StoreError, Table
from collectors.store import flow_rows

MOST_PARTITIONS = 1000


@dataclass(frozen=True)
class Status:
    """A table of the store: rows, octets on disk, times of its first and last row (ns), retention (s).

    `wrong`: why it accepts no rows from this version: a newer schema, or a foreign change.
    """

    name: str
    version: int
    rows: int
    octets: int
    first_ns: int
    last_ns: int
    keep_s: int
    partitions: int
    wrong: str = ""


def status(database: Database) -> list[Status]:
    """List the tables of flow records. Raises StoreError."""
    found = []
    for table in flow_rows.TABLES:
        known = database.registered(table.name)
        if known is None:
            continue
        answer, wrong = {"rows": 0}, ""
        try:
            sql = f"SELECT count() AS rows, min({table.time}) AS first, max({table.time}) AS last FROM {table.name}"
            answer = {name: int(values[0]) for name, values in database.query(sql).items()}
            database.check(table)
        except StoreError as error:
            if error.transient:
                raise
            wrong = str(error)
        parts = database.query(
            """SELECT sum(bytes_on_disk) AS octets, uniqExact(partition) AS partitions FROM system.parts
            WHERE active AND database = currentDatabase() AND table IN {names:Array(String)}""",
            {"names": [table.name, f"{table.name}_local"]},
        )
        octets, partitions = int(parts["octets"][0]), int(parts["partitions"][0])
        first, last = (answer["first"], answer["last"]) if answer["rows"] else (0, 0)
        numbers = (answer["rows"], octets, first, last, known["keep_s"], partitions)
        found.append(Status(table.name, known["version"], *numbers, wrong))
    return found


def keep(database: Database, keep_s: int) -> None:
    """Set the retention of flow records, and a longer one of pairs; an earlier schema stays. Raises StoreError."""
    for table, known in _allowed(database, keep_s):
        if not database.plain:
            for name in _local(database, table):
                database.query(f"ALTER TABLE {name}{_everywhere(name)} MODIFY TTL {tables.ttl(table, table.keep_s)}")
        database.register(replace(table, version=known["version"]))


def prune(database: Database, now_ns: int, keep_s: int | None = None) -> int:
    """Drop partitions whose rows are all older than the retention, or than `keep_s`; return their number. Raises StoreError."""
    dropped = 0
    for table, known in _allowed(database, keep_s) if keep_s else _registered(database):
        kept_s = table.keep_s if keep_s else known["keep_s"]
        if not kept_s:
            continue
        oldest = (now_ns - kept_s * 10**9) // known["partition_ns"]
        for name in _local(database, table):
            sql = """SELECT DISTINCT toInt64(partition) AS number FROM system.parts
                WHERE active AND database = currentDatabase() AND table = {name:String}
                AND toInt64(partition) < {oldest:Int64}"""
            for number in database.query(sql, {"name": name, "oldest": oldest})["number"].tolist():
                database.query(f"ALTER TABLE {name}{_everywhere(name)} DROP PARTITION {int(number)}")
                dropped += 1
    return dropped


def _registered(database: Database) -> list[tuple[Table, dict[str, int]]]:
    """List the existing tables with their records in the registry.

    Raises StoreError if one needs a newer version, or was changed by somebody else.
    """
    found = [(table, known) for table in flow_rows.TABLES if (known := database.registered(table.name))]
    for table, known in found:
        tables.refuse_newer(table, known["version"], database.where)  # only a newer version knows its partitions
        tables.refuse_unparted(table, known["partition_ns"], database.where)
    return found


def _allowed(database: Database, keep_s: int) -> list[tuple[Table, dict[str, int]]]:
    """List the tables with this retention. Raises StoreError if it is not possible."""
    there = {table.name: known for table, known in _registered(database)}
    found = []
    for table in flow_rows.tables_kept_for(keep_s):
        known = there.get(table.name)
        if known is None:
            raise StoreError(f"{database.where}: table {table.name} does not exist; create it with prism store init")
        if known["partition_ns"] * MOST_PARTITIONS < table.keep_s * 10**9:
            most = known["partition_ns"] * MOST_PARTITIONS // 10**9
            raise StoreError(
                f"{database.where}: its partitions allow at most {most} s of retention; a longer time needs a new store"
            )
        found.append((table, known))
    return found


def _everywhere(name: str) -> str:
    return f" ON CLUSTER '{Cluster().name}'" if name.endswith("_local") else ""


def _local(database: Database, table: Table) -> list[str]:
    """Return the table with the rows on this server: the one behind a Distributed table."""
    sql = "SELECT name FROM system.tables WHERE database = currentDatabase() AND name = {name:String}"
    local = f"{table.name}_local"
    return [local] if len(database.query(sql, {"name": local})["name"]) else [table.name]
