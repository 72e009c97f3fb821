from dataclasses import replace

import numpy as np
import pytest

from collectors.clickhouse import StoreError, Table, TableColumn
from collectors.clickhouse_tables import MOST, Tables

LOG = Table("log", (TableColumn("at_ns", "Int64"), TableColumn("batch", "UInt64")), ("at_ns",), time="at_ns", keep_s=3600)


class Answers(Tables):
    """A database that answers what it is told, to see what it is asked."""

    where, plain = "here", True

    def __init__(self, count):
        self.count, self.asked, self.rows = count, [], []

    def _run(self, sql):
        self.asked.append(sql)
        return {"n": np.array([self.count])}

    def _put(self, table, columns, token):  # noqa: ARG002
        self.rows.append(columns)


def test_a_batch_is_asked_for_within_its_time_before_it_is_sent_again():
    there, new = Answers(2), Answers(0)
    assert not there.insert(LOG, {"at_ns": [5, 9]}, token="x")
    assert "at_ns >= 5 AND at_ns <= 9" in there.asked[0]
    assert new.insert(LOG, {"at_ns": [5, 9]}, token="x")
    assert new.insert(LOG, {"at_ns": [5, 9]}, token="x", again=False)
    assert len(new.asked) == 1
    assert len({int(rows["batch"][0]) for rows in new.rows}) == 1


def test_a_part_of_a_batch_is_not_taken_for_it():
    with pytest.raises(StoreError, match="1 of 2 rows"):
        Answers(1).insert(LOG, {"at_ns": [5, 9]}, token="x")


def test_an_insert_is_one_block():
    with pytest.raises(ValueError, match="at most"):
        Answers(0).insert(LOG, {"at_ns": np.zeros(MOST + 1, np.int64)})


class Spread(Tables):
    """A cluster's server, whose table is over replicas and of the first version."""

    where, plain = "here", False

    def __init__(self):
        self.asked = []

    def _run(self, sql):
        self.asked.append(sql)
        if "system.columns" in sql:
            names = ["at_ns", "batch"]
            return {"name": names, "type": ["Int64", "UInt64"], "default_kind": [""] * 2}
        if "system.tables" in sql:
            return {"engine": ["Distributed"], "partition_key": [""]}
        return {key: np.array([1]) for key in ("version", "keep_s", "partition_ns", "last")}

    def _put(self, table, columns, token):
        pass


def test_a_cluster_s_table_is_brought_forward_where_its_rows_are():
    database, newer = Spread(), replace(LOG, version=2, columns=(*LOG.columns, TableColumn("new", "UInt8", since=2)))
    database.create(newer)
    changes = [sql.split(" ADD ")[0] for sql in database.asked if sql.startswith("ALTER")]
    assert changes == ["ALTER TABLE log_local ON CLUSTER '{cluster}'", "ALTER TABLE log ON CLUSTER '{cluster}'"]
