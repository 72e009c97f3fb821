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
