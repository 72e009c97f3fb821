"""What both kinds of database promise, tried on the real engine inside this process and on Debian's real server."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.clickhouse.drivers import StoreError, Table, TableColumn, opened
from tests.collectors.builders import servers, stores

CASES = Table(
    "cases",
    (
        TableColumn("id", "String"),
        TableColumn("at_ns", "Int64"),
        TableColumn("share", "Float64"),
        TableColumn("body", "String"),
    ),
    ("id",),
    replacing="at_ns",
)
ROWS = {"id": ["a'\\", "b"], "at_ns": [1, 2], "share": [0.5, -1], "body": ['{"ü": 1}', ""]}


@pytest.fixture(scope="module", params=["embedded", "server"])
def database(request, tmp_path_factory):
    with stores.kept(request.param, tmp_path_factory.mktemp("store")) as found:
        yield found


@pytest.fixture
def table(database, request):
    """A table of its own for each test."""
    made = replace(CASES, name="t" + str(abs(hash(request.node.nodeid))))
    database.create(made)
    return made


def test_rows_come_back_as_they_went_in(database, table):
    database.create(table)
    assert database.insert(table, ROWS)
    found = database.query(f"SELECT id, at_ns, share, body FROM {table.name} ORDER BY id")
    assert {name: values.tolist() for name, values in found.items()} == ROWS
    assert found["at_ns"].dtype == np.int64


def test_rows_replace_those_of_an_earlier_version(database, table):
    database.insert(table, ROWS)
    database.insert(table, {"id": ["b"], "at_ns": [3], "share": [1.0], "body": ["new"]})
    assert database.query(f"SELECT body FROM {table.name} FINAL WHERE id = 'b'")["body"].tolist() == ["new"]


def test_the_same_token_twice_is_once_and_no_token_is_twice(database, table):
    logs = replace(table, name=table.name + "log", replacing=None)
    database.create(logs)
    for _ in range(2):
        database.insert(logs, ROWS, token="it's")
    assert database.query(f"SELECT count() AS n FROM {logs.name}")["n"][0] == 2
    database.insert(logs, ROWS)
    database.insert(logs, ROWS)
    assert database.query(f"SELECT count() AS n FROM {logs.name}")["n"][0] == 6


def test_nothing_is_an_answer(database, table):
    found = database.query(f"SELECT id, at_ns FROM {table.name} WHERE id IN {{ids:Array(String)}}", {"ids": []})
    assert {name: len(values) for name, values in found.items()} == {"id": 0, "at_ns": 0}
    assert not database.insert(table, {name: [] for name in ROWS})


@given(
    text=st.text(st.characters(codec="utf-8")),
    number=st.integers(-(2**63), 2**63 - 1),
    real=st.floats(allow_nan=False, width=32),
)
def test_a_bound_value_stays_a_value(database, text, number, real):
    sql = (
        "SELECT {text:String} AS text, toInt64({number:Int64}) AS number, toFloat64({real:Float64}) AS real, 7 -{number:Int64}"
    )
    real = 0.0 if abs(real) == float("inf") else real
    found = database.query(sql, {"text": text, "number": number, "real": real})
    assert (found["text"][0], found["number"][0], found["real"][0]) == (text, number, pytest.approx(real))


def test_what_is_wrong_is_reported_and_whether_it_passes(database, table):
    with pytest.raises(StoreError, match="nope") as caught:
        database.query(f"SELECT nope FROM {table.name}")
    assert not caught.value.transient
    with pytest.raises(ValueError, match="missing column at_ns, body, share"):
        database.insert(table, {"id": ["a"]})
    with pytest.raises(ValueError, match="they need equal lengths"):
        database.insert(table, ROWS | {"id": ["a"]})


def test_an_earlier_table_is_brought_forward_with_its_rows(database, table):
    database.insert(table, ROWS)
    newer = replace(table, version=2, columns=(*table.columns, TableColumn("state", "String", since=2)))
    database.create(newer)
    database.create(newer)
    database.insert(newer, {name: values[:1] for name, values in (ROWS | {"id": ["c"], "state": ["open"]}).items()})
    found = database.query(f"SELECT id, state FROM {table.name} ORDER BY id")
    assert list(zip(found["id"], found["state"], strict=True)) == [("a'\\", ""), ("b", ""), ("c", "open")]
    with pytest.raises(StoreError, match="has schema 2, this version knows 1; use a newer Prism"):
        database.create(table)


def test_a_table_that_somebody_changed_is_refused(database, table):
    with pytest.raises(StoreError, match=r"\.share is Float64, expected Float32: it was changed from outside"):
        database.create(replace(table, columns=(*table.columns[:2], TableColumn("share", "Float32"))))
    database.query(f"ALTER TABLE {table.name} DROP COLUMN body")
    with pytest.raises(StoreError, match="has no column body: it was changed from outside"):
        database.create(table)


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (
            "ReplacingMergeTree() PARTITION BY intDiv(at_ns, 120000000000) ORDER BY id",
            "is ReplacingMergeTree, expected MergeTree",
        ),
        (
            "MergeTree() PARTITION BY intDiv(at_ns, 60000000000) ORDER BY id",
            r"intDiv\(at_ns,60000000000\), expected .*120000000000",
        ),
        ("MergeTree() PARTITION BY id ORDER BY id", "is id, expected intDiv"),
    ],
)
def test_a_table_that_would_merge_rows_away_or_split_a_batch_is_refused(database, table, engine, words):
    """Records alike in order are all of them kept, and a batch is of one partition: there whole or not at all."""
    logs = replace(table, name=table.name + "log", replacing=None, time="at_ns", keep_s=6000)
    database.create(logs)
    database.create(logs)
    database.query(f"CREATE TABLE copied AS {logs.name} ENGINE = {engine}")
    database.query(f"DROP TABLE {logs.name}")
    database.query(f"RENAME TABLE copied TO {logs.name}")
    for ask in (database.check, database.create):
        with pytest.raises(StoreError, match=words + ".*: it was changed from outside"):
            ask(logs)
    database.query(f"DROP TABLE {logs.name}")


def test_a_closed_database_says_so(tmp_path):
    with servers.running(tmp_path) as server:
        found = opened(server.url)
        found.close()
        with pytest.raises(StoreError, match="closed"):
            found.query("SELECT 1")
