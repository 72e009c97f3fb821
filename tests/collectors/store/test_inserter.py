import shutil
import time
from types import SimpleNamespace

import numpy as np
import pytest

from collectors.clickhouse.drivers import StoreError, opened
from collectors.clickhouse.server import Server
from collectors.store._inserter import InserterThread
from collectors.store.spool import DAMAGED, Spool
from tests.collectors.builders import servers, stores


def test_batches_of_an_earlier_process_go_in_and_damaged_ones_are_counted_once(tmp_path):
    spool, now = Spool(tmp_path / "spool"), time.time_ns()
    made = [spool.add(stores.flows(100, now_ns=now, first=100 * i)) for i in range(4)]
    (tmp_path / "spool" / made[2].name).write_bytes(b"nothing")
    inserting = InserterThread(str(tmp_path / "store"), spool, keep_s=86_400)
    inserting.stop(60)
    assert inserting.tally["stored"] == 300
    assert spool.dropped == {DAMAGED: 100}
    assert len(spool) == 0
    spool.close()


def test_a_batch_over_partitions_is_a_piece_for_each(tmp_path):
    spool, day = Spool(tmp_path / "spool"), 86_400 * 10**9
    inserting = InserterThread(str(tmp_path / "store"), spool, keep_s=86_400)
    inserting.stop(60)
    pieces = inserting._pieces(spool.add(stores.flows(1000, now_ns=time.time_ns(), span_ns=day // 10)))
    assert sum(piece.records for piece in pieces) == 1000
    assert len({piece.token for piece in pieces}) == len(pieces) > 3
    for piece in pieces:
        assert len(set((piece.rows["start_ns"] // inserting._partition_ns).tolist())) == 1
    spool.close()


def test_sums_by_pair_are_split_where_their_partitions_are(tmp_path):
    spool = Spool(tmp_path / "spool")
    inserting = InserterThread(str(tmp_path / "store"), spool, keep_s=86_400)
    inserting.stop(60)
    edge = time.time_ns() // inserting._pairs_ns * inserting._pairs_ns
    pieces = inserting._pieces(spool.add(stores.flows(500, now_ns=edge + 10**9, span_ns=2 * 10**9)))
    pairs = [one for piece in pieces for one in piece.pairs]
    assert {len(set((rows["minute_ns"] // inserting._pairs_ns).tolist())) for _, rows in pairs} == {1}
    assert len({token for token, _ in pairs}) == len(pairs) >= 2
    assert sum(int(rows["records"].sum()) for _, rows in pairs) == 500
    spool.close()


def test_a_clock_that_is_set_back_brings_no_batch_twice(tmp_path, monkeypatch):
    """A server takes a batch and its answer is lost; before it is asked again, a batch comes that sorts before it."""
    spool, put, now, lost = Spool(tmp_path / "spool"), Server._put, time.time_ns(), []

    def lossy(self, table, columns, token, *, noted):
        put(self, table, columns, token, noted=noted)
        if table.name == "flows" and not lost:
            lost.append(token)
            monkeypatch.setattr("collectors.store.spool.time", SimpleNamespace(time_ns=lambda: 1))
            spool.add(stores.flows(100, now_ns=now, first=100))
            raise StoreError("the answer was lost", transient=True)

    monkeypatch.setattr(Server, "_put", lossy)
    with servers.running(tmp_path / "server") as server:
        inserting = InserterThread(server.url, spool, keep_s=86_400)
        spool.add(stores.flows(100, now_ns=now))
        inserting.wake()
        until = time.monotonic() + 60
        while (len(spool) or not lost) and time.monotonic() < until:
            time.sleep(0.01)
        inserting.stop(60)
        database = opened(server.url)
        found = np.sort(database.query("SELECT busy_ns FROM flows")["busy_ns"])
        rolled = int(database.query("SELECT sum(records) AS n FROM flow_pairs")["n"][0])
        database.close()
    assert lost
    assert found.tolist() == list(range(200))
    assert rolled == 200
    assert inserting.tally == {"stored": 100, "deduplicated": 100}
    spool.close()


@pytest.mark.parametrize("lost", [("flow_pairs",), ("flows", "flow_pairs")])
def test_rows_that_the_engine_noted_and_did_not_keep_go_in(tmp_path, lost):
    """The engine notes a batch's token before it has the part: killed in between, it takes the batch for one it has."""
    now, folder = time.time_ns(), tmp_path / "spool"
    for first in (0, 100):
        spool = Spool(folder)
        batch = spool.add(stores.flows(100, now_ns=now, first=first, seed=first))
        octets = (folder / batch.name).read_bytes()
        brought(tmp_path, spool)
    for table in lost:
        (part,) = (tmp_path / "store" / "data" / "prism" / table).glob("*_2_2_0")
        shutil.rmtree(part)
    (folder / batch.name).write_bytes(octets)
    brought(tmp_path, Spool(folder))
    database = opened(str(tmp_path / "store"))
    found = np.sort(database.query("SELECT busy_ns FROM flows")["busy_ns"])
    rolled = database.query("SELECT sum(records) AS n, sum(octets) AS octets FROM flow_pairs")
    whole = database.query("SELECT count() AS n, sum(octets) AS octets FROM flows")
    database.close()
    assert found.tolist() == list(range(200))
    assert {name: int(sums[0]) for name, sums in rolled.items()} == {name: int(sums[0]) for name, sums in whole.items()}


def brought(folder, spool):
    """What is in the spool goes into the embedded store, which is closed then."""
    InserterThread(str(folder / "store"), spool, keep_s=86_400).stop(60)
    assert len(spool) == 0
    spool.close()


def test_the_password_of_a_server_is_in_no_log_line_and_not_in_health(tmp_path, caplog, monkeypatch):
    pytest.importorskip("clickhouse_driver")
    monkeypatch.setattr("collectors.operations.logs._log.propagate", True)
    spool = Spool(tmp_path / "spool")
    inserting = InserterThread("clickhouse://me:secret@127.0.0.1:1/prism", spool, keep_s=86_400)
    deadline = time.monotonic() + 30
    while not inserting.errors and time.monotonic() < deadline:
        time.sleep(0.05)
    inserting.stop(0.1)
    spool.close()
    assert inserting.health()["store"] == "clickhouse://me@127.0.0.1:1/prism"
    assert "store=clickhouse://me@127.0.0.1:1/prism" in caplog.text
    assert "secret" not in caplog.text
