from dataclasses import replace

import numpy as np
import pytest

from collectors.clickhouse.drivers import StoreError, Table, TableColumn
from collectors.clickhouse.schema import MAX_ROWS, Tables

LOG = Table("log", (TableColumn("at_ns", "Int64"), TableColumn("batch", "UInt64")), ("at_ns",), time="at_ns", keep_s=3600)


class Answers(Tables):
    """A database that answers what it is told, to see what it is asked."""

    where, plain = "here", True

    def __init__(self, count):
        self.count, self.asked, self.rows = count, [], []

    def _run(self, sql):
        self.asked.append(sql)
        return {"n": np.array([self.count])}

    def _put(self, table, columns, token, *, noted):  # noqa: ARG002
        self.rows.append(columns)


def test_a_batch_is_requested_within_its_time_before_it_is_sent_again():
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
        Answers(0).insert(LOG, {"at_ns": np.zeros(MAX_ROWS + 1, np.int64)})


SUMS = Table(
    "sums",
    tuple(TableColumn(name, "UInt64") for name in ("minute_ns", "records", "octets")),
    ("minute_ns",),
    time="minute_ns",
    summing=Table("log", tuple(TableColumn(name, "UInt64") for name in ("at_ns", "octets")), ("at_ns",), time="at_ns"),
    bucket_ns=60,
)


class Summed(Answers):
    """A database in the full form that has records and octets: of the rows that are summed, and in the sums of them."""

    plain = False

    def __init__(self, engine, rows, sums):
        super().__init__(0)
        self.engine, self.has, self.noted = engine, {"log": rows, "sums": sums}, []

    def _run(self, sql):
        self.asked.append(sql)
        if "system.tables" in sql:
            return {"engine": [self.engine], "partition_key": [""]}
        records, octets = self.has[sql.split("FROM ")[1].split()[0]]
        return {"records": np.array([records]), "octets": np.array([octets])}

    def _put(self, table, columns, token, *, noted):
        super()._put(table, columns, token, noted=noted)
        self.noted.append(noted)


@pytest.mark.parametrize(
    ("engine", "rows", "sums", "noted"),
    [
        ("AggregatingMergeTree", (5, 70), (5, 70), []),  # all of it is there
        ("AggregatingMergeTree", (5, 70), (3, 50), [False]),  # just these are not, whatever the engine has noted
        ("AggregatingMergeTree", (5, 70), (3, 60), [True]),  # who knows
        ("ReplicatedAggregatingMergeTree", (5, 70), (3, 50), [True]),  # notes no token without its rows
        ("Distributed", (5, 70), (3, 50), [True]),
    ],
)
def test_whether_sums_are_there_is_told_by_what_they_lack(engine, rows, sums, noted):
    database = Summed(engine, rows, sums)
    columns = {"minute_ns": [60, 120], "records": [1, 1], "octets": [15, 5]}
    assert database.insert(SUMS, columns, token="x") == bool(noted)
    assert database.noted == noted
    asked = [sql for sql in database.asked if "FROM log" in sql]
    assert not asked or "at_ns >= 60 AND at_ns <= 179" in asked[0]


def test_rows_that_replace_others_and_rows_that_are_not_there_do_not_ask_what_was_noted():
    database = Summed("AggregatingMergeTree", (5, 70), (5, 70))
    assert database.insert(SUMS, {"minute_ns": [60], "records": [1], "octets": [15]}, token="x", absent=True)
    kept = Table("kept", (TableColumn("at_ns", "Int64"),), ("at_ns",), replacing="at_ns")
    assert database.insert(kept, {"at_ns": [1]}, token="x")
    assert database.noted == [False, False]


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

    def _put(self, table, columns, token, *, noted):
        pass


def test_a_cluster_s_table_is_brought_forward_where_its_rows_are():
    database, newer = Spread(), replace(LOG, version=2, columns=(*LOG.columns, TableColumn("new", "UInt8", since=2)))
    database.create(newer)
    changes = [sql.split(" ADD ")[0] for sql in database.asked if sql.startswith("ALTER")]
    assert changes == ["ALTER TABLE log_local ON CLUSTER '{cluster}'", "ALTER TABLE log ON CLUSTER '{cluster}'"]
