import time
from dataclasses import replace

import numpy as np
import pytest

from collectors.clickhouse.drivers import StoreError, opened
from collectors.columns.record import Flows
from collectors.live.session import sink_to
from collectors.store import flow_rows
from collectors.store.store_sink import EARLY, LATE, NAMELESS, Storing
from tests.collectors.builders import servers, stores


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.01)


def law(sink):
    return sink.taken - sum(sink.records_by_result().values())


def numbers(database):
    return sorted(database.query("SELECT busy_ns FROM flows")["busy_ns"].tolist())


@pytest.fixture
def sink(tmp_path):
    made = Storing(str(tmp_path / "store"), tmp_path / "spool", rows=1000, seconds=60)
    yield made
    made.close()


def test_records_are_stored_once_rolled_up_and_the_sums_come_out_even(sink):
    flows = stores.flows(3500, now_ns=time.time_ns(), span_ns=2 * 86_400 * 10**9)
    for part in np.array_split(np.arange(3500), 7):
        sink.write(flows.take(part))
        assert law(sink) == 0
    sink.flush()
    until(lambda: not len(sink.spool))
    assert sink.records_by_result() == {"stored": 3500, "deduplicated": 0, "waiting": 0, "spooled": 0}
    database = opened(sink.where)
    assert numbers(database) == list(range(3500))
    assert database.query("SELECT sum(records) AS n FROM flow_pairs")["n"][0] == 3500
    parts = database.query("SELECT max(n) AS most FROM (SELECT uniqExact(intDiv(start_ns, 1)) AS n FROM flows GROUP BY _part)")
    assert parts["most"][0] > 0
    database.close()
    shown = {(c.name, *key): n for c in sink.counts() for key, n in c.values.items()}
    assert shown["prism_collect_sink_records", "kept"] == 3500
    assert shown["prism_collect_store_up",] == 1


def test_a_batch_goes_by_time_too(sink):
    sink.write(stores.flows(10, now_ns=time.time_ns()))
    sink.tick(time.time_ns())
    assert sink.records_by_result()["waiting"] == 10
    sink.tick(time.time_ns() + 61 * 10**9)
    until(lambda: sink.records_by_result()["stored"] == 10)


def test_what_cannot_be_kept_is_dropped_by_reason(sink):
    now = time.time_ns()
    day = 86_400 * 10**9
    flows = Flows.build(
        {"start_ns": [now, now + day, now - 30 * day, now, now + day], "src": [0, 0, 0, 1, 1], "dst": [0] * 5},
        endpoints=("10.0.0.1", "server7"),
    )
    sink.write(flows)
    assert sink.dropped == {NAMELESS: 2, LATE: 1, EARLY: 1}
    assert law(sink) == 0


def test_a_wrong_clock_is_reported_and_whose_and_health_fails_where_nothing_is_kept(tmp_path, caplog):
    """One exporter's costs its records; this host's would cost all of them, and nobody would know."""
    now = [time.time_ns()]
    sink = Storing(str(tmp_path / "store"), tmp_path / "spool", seconds=3600, clock=lambda: now[0])
    good, ahead = (stores.flows(5, now_ns=now[0] + hours * 3600 * 10**9) for hours in (0, 3))
    assert sink.health()["dropping"] == {}
    for _ in range(3):
        sink.write(ahead)
    (told,) = [record.getMessage() for record in caplog.records if "records dropped" in record.getMessage()]
    assert "timestamp in the future" in told
    assert " s ahead" in told
    assert ahead.exporters[ahead.exporter[0]] in told
    assert sink.health()["state"] == "ok"
    assert list(sink.health()["dropping"]) == [LATE]
    now[0] += 61 * 10**9
    for part in (good, ahead):
        sink.write(part)
    assert sink.health()["state"] == "ok"
    now[0] += 61 * 10**9
    sink.write(ahead)
    found = sink.health()
    assert found["state"] == "failed"
    assert "all records are dropped: timestamp in the future, from " in found["error"]
    now[0] += 61 * 10**9
    assert sink.health()["state"] == "ok"  # nothing comes, nothing is dropped
    assert sink.dropped == {LATE: 25}
    assert law(sink) == 0
    sink.close()


def test_what_lay_in_the_spool_is_left_until_it_is_stored(tmp_path):
    away = Storing("clickhouse://127.0.0.1:9", tmp_path / "spool", rows=100)
    away.write(stores.flows(200, now_ns=time.time_ns()))
    away.flush()
    assert away.left() == 0  # it was not there at the start
    away.close(patience_s=0)
    away = Storing("clickhouse://127.0.0.1:9", tmp_path / "spool", rows=100)
    away.write(stores.flows(100, now_ns=time.time_ns()))
    away.flush()
    assert away.left() == 200
    away.close(patience_s=0)
    sink = Storing(str(tmp_path / "store"), tmp_path / "spool", rows=100)
    assert sink.left() <= 300
    until(lambda: sink.left() == 0)
    assert sink.records_by_result()["stored"] == 300
    sink.close()


def test_a_damaged_spool_costs_its_records_alone(tmp_path):
    sink = Storing(str(tmp_path / "store"), tmp_path / "spool", rows=100)
    sink.close()
    from collectors.store.spool import Spool

    spool = Spool(tmp_path / "spool")
    made = [spool.add(stores.flows(100, now_ns=time.time_ns(), first=100 * i)) for i in range(3)]
    path = tmp_path / "spool" / made[1].name
    path.write_bytes(path.read_bytes()[:-5] + b"12345")
    spool.close()
    sink = Storing(str(tmp_path / "store"), tmp_path / "spool", rows=100)
    until(lambda: not len(sink.spool))
    assert sink.taken == 300
    assert sink.records_by_result() == {
        "stored": 200,
        "deduplicated": 0,
        "waiting": 0,
        "spooled": 0,
        "dropped: spool file damaged": 100,
    }
    sink.close()


def test_a_batch_that_was_in_already_is_known(tmp_path):
    """As after a kill between the insert and the removal from the spool."""
    sink = Storing(str(tmp_path / "store"), tmp_path / "spool", rows=100)
    batch = sink.spool.add(stores.flows(100, now_ns=time.time_ns()))
    sink.taken += 100
    octets = (tmp_path / "spool" / batch.name).read_bytes()
    sink.inserting.wake()
    until(lambda: not len(sink.spool))
    sink.close()
    (tmp_path / "spool" / batch.name).write_bytes(octets)
    sink = Storing(str(tmp_path / "store"), tmp_path / "spool", rows=100)
    until(lambda: not len(sink.spool))
    assert sink.records_by_result() == {"stored": 0, "deduplicated": 100, "waiting": 0, "spooled": 0}
    database = opened(sink.where)
    assert numbers(database) == list(range(100))
    assert database.query("SELECT sum(records) AS n FROM flow_pairs")["n"][0] == 100
    database.close()
    sink.close()


def test_a_full_spool_holds_what_was_acknowledged_and_counts_the_rest(tmp_path):
    (port,) = servers._free(1)
    where = f"clickhouse://127.0.0.1:{port}/prism"
    sink = Storing(where, tmp_path / "spool", rows=1000, spool_octets=100_000)
    for i in range(20):
        sink.write(stores.flows(1000, now_ns=time.time_ns(), first=1000 * i))
        assert law(sink) == 0
    assert sink.dropped["spool full"] > 0
    assert sink.records_by_result()["spooled"] > 0
    assert sink.health()["state"] == "failed"
    sink.close(patience_s=0)


def test_a_server_that_is_away_is_waited_for(tmp_path):
    with servers.running(tmp_path / "server") as server:
        server.kill()
        sink = Storing(server.url, tmp_path / "spool", rows=1000)
        sink.write(stores.flows(2000, now_ns=time.time_ns()))
        assert sink.health()["state"] == "waiting"
        assert sink.records_by_result()["spooled"] == 2000
        server.start()
        until(lambda: not len(sink.spool))
        assert sink.health()["state"] == "ok"
        assert sink.records_by_result()["stored"] == 2000
        database = opened(server.url)
        database.query("ALTER TABLE flows DROP COLUMN octets")
        sink.write(stores.flows(1000, now_ns=time.time_ns(), first=2000))
        until(lambda: sink.health()["state"] == "failed")
        assert "octets" in sink.health()["error"]
        database.query("ALTER TABLE flows ADD COLUMN octets UInt64")
        until(lambda: not len(sink.spool))
        assert numbers(database) == list(range(3000))
        database.close()
        sink.close()


def test_tables_that_somebody_dropped_are_made_again(tmp_path):
    """As where a server lost its disk: what is spooled goes in, and no restart is needed."""
    with servers.running(tmp_path / "server") as server:
        sink, count = Storing(server.url, tmp_path / "spool", rows=1000), 0
        for sql in ("SELECT 1", "DROP TABLE flows", "DROP DATABASE prism"):
            database = opened(server.url)
            database.query(sql)
            database.close()
            sink.write(stores.flows(1000, now_ns=time.time_ns(), first=count))
            count += 1000
            until(lambda n=count: sink.records_by_result()["stored"] == n and sink.health()["state"] == "ok")
        database = opened(server.url)
        assert numbers(database) == list(range(2000, 3000))
        database.close()
        sink.close()


def test_what_can_never_be_is_refused_at_the_start(tmp_path):
    store = tmp_path / "store"
    database = opened(str(store))
    database.create(replace(flow_rows.FLOWS, version=99))
    database.close()
    with pytest.raises(StoreError, match="has schema 99"):
        Storing(str(store), tmp_path / "spool")
    Storing(str(tmp_path / "other"), tmp_path / "spool").close()


def test_the_sink_of_out_says_where_records_wait(tmp_path, monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    embedded = sink_to(f"chdb:{tmp_path / 'store'}", rows=1, seconds=60)
    assert embedded.spool.folder == tmp_path / "store" / "spool"
    embedded.close()
    (port,) = servers._free(1)
    for query, folder in (("", "state/prism-spool"), (f"?spool={tmp_path / 'mine'}&connect_timeout=1", "mine")):
        server = sink_to(f"clickhouse://127.0.0.1:{port}/prism{query}", rows=1, seconds=60)
        assert server.spool.folder == tmp_path / folder
        assert "spool" not in server.where
        server.close(patience_s=0)
    with pytest.raises(StoreError, match="spool= is empty"):  # an unset variable, perhaps
        sink_to(f"clickhouse://me:secret@127.0.0.1:{port}/prism?spool=", rows=1, seconds=60)


def test_closed_twice_is_closed(tmp_path):
    sink = Storing(str(tmp_path / "store"), tmp_path / "spool")
    sink.close()
    sink.close(patience_s=0.0)
