import subprocess
import sys
import threading

import pytest

from collectors.clickhouse import tables
from collectors.clickhouse.drivers import StoreError, opened
from collectors.store import flow_rows

OPEN = """
import sys
from collectors.clickhouse.drivers import opened
database = opened(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def test_a_folder_that_another_process_has_is_refused_by_its_number(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", OPEN, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=f"in use by process {other.pid}"):
            opened(str(tmp_path))
        (tmp_path / "prism.lock").unlink()  # another program with the same engine knows nothing of our lock
        with pytest.raises(StoreError, match=f"in use by process {other.pid}"):
            opened(str(tmp_path))
        other.stdin.close()
    opened(str(tmp_path)).close()


def test_one_process_shares_a_folder_and_has_one(tmp_path):
    first, second = opened(str(tmp_path / "a")), opened(f"chdb:{tmp_path / 'a'}")
    with pytest.raises(StoreError, match="the engine allows only one"):
        opened(str(tmp_path / "b"))
    first.close()
    first.close()
    assert second.query("SELECT 1 AS one")["one"][0] == 1
    with pytest.raises(StoreError, match="closed"):
        first.query("SELECT 1")
    second.close()
    opened(str(tmp_path / "b")).close()


def test_threads_share_it(tmp_path):
    database, found = opened(str(tmp_path)), []
    threads = [
        threading.Thread(target=lambda i=i: found.append(int(database.query(f"SELECT {i} AS i")["i"][0]))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    assert sorted(found) == list(range(8))


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for where, words in (
        (tmp_path / "file", "file exists"),
        (tmp_path / "a?b", "must not contain"),
        ("/proc/none", "no such file"),
    ):
        with pytest.raises(StoreError, match=words) as caught:
            opened(str(where))
        assert not caught.value.transient


def test_tables_of_an_old_server_are_distinguished_from_those_that_somebody_changed(tmp_path):
    """As after a server's upgrade: the rows are there, but what deduplicates and drops old ones is not."""
    database = opened(str(tmp_path))
    for table in flow_rows.TABLES:
        database.query(tables.create(table, plain=True)[0])
        with pytest.raises(
            StoreError, match=r"the form for servers before 22\.3; after an upgrade of the server use a new data"
        ):
            database.create(table)
    database.close()


def test_why_the_engine_does_not_start_is_reported(tmp_path):
    database = opened(str(tmp_path / "s"))
    database.create(flow_rows.FLOWS)
    database.close()
    path = next((tmp_path / "s" / "store").rglob("flows.sql"))
    path.write_text("")
    with pytest.raises(StoreError, match=r"store/.*/flows\.sql is empty: the disk was full; remove the store"):
        opened(str(tmp_path / "s"))


def test_definitions_need_room_and_what_makes_room_does_not(tmp_path, monkeypatch):
    database = opened(str(tmp_path))
    database.create(flow_rows.FLOWS)
    monkeypatch.setattr("collectors.clickhouse.embedded.ROOM", 1 << 62)
    with pytest.raises(StoreError, match="no space left on device") as caught:
        database.create(flow_rows.PAIRS)
    assert caught.value.transient
    database.query("ALTER TABLE flows DROP PARTITION 1")
    database.create(flow_rows.FLOWS)
    database.close()
