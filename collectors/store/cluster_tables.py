"""Write the statements that create the store's tables on a cluster: replicas per shard, and a table over all shards.

python -m collectors.store.cluster_tables > deploy/clickhouse/cluster.sql
"""

from __future__ import annotations

from collectors.clickhouse import tables
from collectors.clickhouse.schema import REGISTRY
from collectors.clickhouse.tables import Cluster, Table
from collectors.store.flow_rows import TABLES

HEAD = """\
-- Tables of Prism on a ClickHouse cluster, written by `python -m collectors.store.cluster_tables`; do not edit.
--
-- Every server's settings need the macros cluster, shard and replica, and the cluster's definition needs
-- <internal_replication>true</internal_replication>: one replica receives a batch and copies it to the others.
-- Run it once, on any server: clickhouse-client --multiquery < cluster.sql
-- Then use any server of the cluster: prism-collect ... --out clickhouse://user:password@server/prism
"""


def statements(cluster: Cluster = Cluster()) -> str:  # noqa: B008 - it is frozen
    """Build the whole file."""
    made = [HEAD + f"CREATE DATABASE IF NOT EXISTS prism ON CLUSTER '{cluster.name}'", "USE prism"]
    for table in (REGISTRY, *TABLES):
        made.extend(tables.create(table, plain=False, cluster=cluster))
    names = ", ".join(column.name for column in REGISTRY.columns)
    made.append(f"INSERT INTO {REGISTRY.name} ({names}) VALUES\n  " + ",\n  ".join(map(_row, TABLES)))
    return ";\n\n".join(made) + ";\n"


def _row(table: Table) -> str:
    return f"('{table.name}', {table.version}, {table.keep_s}, {table.partition_ns}, 0)"  # 0: any later record overrides it


if __name__ == "__main__":
    print(statements(), end="")
