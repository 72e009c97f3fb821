import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from collectors.clickhouse.drivers import StoreError
from collectors.clickhouse.schema import REGISTRY
from collectors.store import flow_rows, retention
from tests.collectors.builders import stores

HOUR = 3600


@pytest.fixture(params=["embedded", "server"])
def database(request, tmp_path):
    with stores.kept(request.param, tmp_path) as found:
        yield found


def fill(database, now_ns, hours):
    table = replace(flow_rows.FLOWS, keep_s=100 * HOUR)
    database.create(table)
    database.create(flow_rows.PAIRS)
    for hour in range(hours):
        flows = stores.flows(10, now_ns=now_ns - hour * HOUR * 10**9)
        for rows in flow_rows.split_partitions(flows.start_ns, table.partition_ns).values():
            columns = flow_rows.to_rows(flows.take(rows)) | {"batch": [0] * len(rows)}
            database.insert(table, columns, token=f"{hour}-{rows[0]}")


def test_what_is_older_than_is_kept_goes_by_partition(database):
    now = time.time_ns()
    fill(database, now, 20)
    before = {found.name: found for found in retention.status(database)}["flows"]
    assert (before.rows, before.keep_s, before.version) == (200, 100 * HOUR, 1)
    assert before.octets > 0
    assert before.partitions >= 10
    assert retention.prune(database, now) == 0
    assert retention.prune(database, now, 16 * HOUR) > 0  # two hours and more before that, whatever the time of day
    assert database.registered("flows")["keep_s"] == 100 * HOUR
    retention.keep(database, 12 * HOUR)
    assert database.registered("flows")["keep_s"] == 12 * HOUR
    retention.keep(database, 10 * HOUR)
    assert database.registered("flows")["keep_s"] == 10 * HOUR
    assert database.registered("flow_pairs")["keep_s"] == 100 * HOUR
    retention.prune(database, now)
    after = {found.name: found for found in retention.status(database)}["flows"]
    assert 100 <= after.rows < 140
    assert after.first_ns < after.last_ns <= now


def test_longer_than_its_partitions_bear_is_refused(database):
    fill(database, time.time_ns(), 1)
    with pytest.raises(StoreError, match="needs a new store"):
        retention.keep(database, 365 * 24 * HOUR * 40)


def test_an_empty_database_has_no_tables(database):
    assert retention.status(database) == []
    with pytest.raises(StoreError, match="does not exist"):
        retention.keep(database, HOUR)


def test_to_keep_rows_for_another_time_changes_no_schema_and_needs_to_know_it(database):
    now = time.time_ns()
    fill(database, now, 3)
    for version, plain in ((0, flow_rows.FLOWS), (99, flow_rows.PAIRS)):
        database.register(replace(plain, version=version))
    with pytest.raises(StoreError, match="flow_pairs has schema 99, this version knows 1"):
        retention.keep(database, 2 * HOUR)
    assert database.registered("flows")["version"] == 0
    with pytest.raises(StoreError, match="use a newer Prism"):
        retention.prune(database, now + 10**18)
    assert database.registered("flow_pairs")["version"] == 99


def test_partitions_that_are_noted_as_of_no_length_were_changed_by_somebody(database):
    fill(database, time.time_ns(), 1)
    at = int(database.query("SELECT max(at_ns) AS at FROM prism_tables")["at"][0])
    row = {"name": ["flows"], "version": [1], "keep_s": [3600], "partition_ns": [0], "at_ns": [at + 1]}
    database.insert(REGISTRY, row)
    said = "the partition of table flows has an invalid length of 0 ns: it was changed from outside"
    for ask in (lambda: retention.prune(database, time.time_ns()), lambda: retention.prune(database, time.time_ns(), HOUR)):
        with pytest.raises(StoreError, match=said) as caught:
            ask()
        assert not caught.value.transient
    with pytest.raises(StoreError, match=said):
        retention.keep(database, HOUR)
    assert {found.name: said in found.wrong for found in retention.status(database)} == {"flows": True, "flow_pairs": False}


def test_what_is_said_last_holds_though_a_clock_is_behind(database, monkeypatch):
    fill(database, time.time_ns(), 1)
    monkeypatch.setattr("collectors.clickhouse.schema.time", SimpleNamespace(time_ns=lambda: 10**9))
    retention.keep(database, 7 * HOUR)
    assert database.registered("flows")["keep_s"] == 7 * HOUR
