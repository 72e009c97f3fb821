"""A disk of its own, which fills up while records go in: the store's, then the spool's."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from collectors.clickhouse.drivers import opened
    from collectors.store.store_sink import Storing
    from tests.collectors.builders import stores

    disk, spool = Path(sys.argv[1]), Path(sys.argv[2])
    ballast = disk / "ballast"
    sink, number = Storing(str(disk / "store"), spool, rows=2000, seconds=60), 0

    def write():
        global number
        sink.write(stores.flows(2000, now_ns=time.time_ns(), first=number, seed=number))
        number += 2000

    def until(condition):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end, (sink.health(), sink.records_by_result())
            time.sleep(0.01)

    write()
    until(lambda: sink.records_by_result()["stored"] == 2000)
    stores.fill(ballast)
    write()
    until(lambda: sink.health()["state"] != "ok" or number > sink.records_by_result()["stored"] + 2000 and write())
    print(sink.health()["state"], sink.health()["error"], flush=True)
    assert sink.taken == sum(sink.records_by_result().values())
    ballast.unlink()
    until(lambda: not len(sink.spool) and not sink.waiting or sink.tick(time.time_ns() + 61 * 10**9))
    assert sink.records_by_result()["stored"] == sink.taken == number, sink.records_by_result()
    database = opened(str(disk / "store"))
    found = sorted(database.query("SELECT busy_ns FROM flows")["busy_ns"].tolist())
    assert found == list(range(number))
    assert int(database.query("SELECT sum(records) AS n FROM flow_pairs")["n"][0]) == number
    database.close()
    sink.close()
    print("all there", flush=True)
    """
)

KEEPING = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from collectors.store import retention, flow_rows as flowrows
    from collectors.clickhouse.drivers import StoreError, opened
    from tests.collectors.builders import stores

    disk, ballast = Path(sys.argv[1]), Path(sys.argv[1]) / "ballast"

    database = opened(str(disk / "store"))
    for table in flowrows.TABLES:
        database.create(table)
    records = flowrows.sort_records(stores.flows(100, now_ns=time.time_ns()))
    database.insert(flowrows.FLOWS, flowrows.to_rows(records), token="a")
    stores.fill(ballast)
    another = flowrows.replace(flowrows.FLOWS, name="another")
    for ask in (lambda: retention.keep(database, 86_400), lambda: database.create(another)):
        try:
            ask()
        except StoreError as error:
            print(error.transient, error, flush=True)
    database.close()
    ballast.unlink()
    stores.fill(disk / "ballast2")
    try:
        opened(str(disk / "new")).close()
    except StoreError as error:
        print(error.transient, error, flush=True)
    (disk / "ballast2").unlink()
    database = opened(str(disk / "store"))
    print(int(database.query("SELECT count() AS n FROM flows")["n"][0]), flush=True)
    retention.keep(database, 86_400)
    print(database.registered("flows")["keep_s"], flush=True)
    database.close()
    """
)


SERVER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from tests.collectors.builders import kill, servers, stores

    disk, number = Path(sys.argv[1]), 0
    ballast = disk / "ballast"

    def write():
        global number
        made.write(stores.flows(kill.ROWS, now_ns=time.time_ns(), first=number, seed=number))
        number += kill.ROWS

    with servers.running(disk / "server") as server:
        made = kill.sink(server.url, sys.argv[2], seconds=60)
        write()
        kill.drain(made)
        stores.fill(ballast)
        until = time.monotonic() + 60
        while made.health()["state"] == "ok" and time.monotonic() < until:
            write()
            time.sleep(0.1)
        print(made.health()["state"], made.health()["error"].replace("\\n", " "), flush=True)
        ballast.unlink()
        made.flush()
        kill.drain(made)
        made.close()
        print(number == kill.counted(server.url, [(0, number)]), flush=True)
    """
)


def on_a_disk_of_its_own(program, disk, *words, size=24):
    """What a program says that is given a disk of so many MB."""
    disk.mkdir()
    mount = [
        "unshare",
        "--mount",
        "--map-root-user",
        "sh",
        "-c",
        f'mount -t tmpfs -o size={size}m none "$0" && exec "$@"',
        str(disk),
    ]
    if shutil.which("unshare") is None or subprocess.run([*mount, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a disk of its own cannot be had")
    command = [*mount, sys.executable, "-c", program, str(disk), *map(str, words)]
    found = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=240, check=False)
    assert found.returncode == 0, found.stdout + found.stderr[-3000:]
    return found.stdout.splitlines()


def test_a_full_disk_costs_no_table_its_definition(tmp_path):
    """The engine would put an empty file in its place, and start no more."""
    *said, rows, kept = on_a_disk_of_its_own(KEEPING, tmp_path / "disk")
    assert len(said) == 3
    assert all(line.startswith("True ") and "no space left on device" in line for line in said), said
    assert (rows, kept) == ("100", "86400")


@pytest.mark.parametrize("full", ["store", "spool"])
def test_what_a_full_disk_refuses_goes_in_when_there_is_room(tmp_path, full):
    disk = tmp_path / "disk"
    said, last = on_a_disk_of_its_own(PROGRAM, disk, tmp_path / "spool" if full == "store" else disk / "spool")
    assert "space" in said.lower(), said
    assert last == "all there"


def test_what_a_server_s_full_disk_refuses_goes_in_when_there_is_room(tmp_path):
    if shutil.which("clickhouse-server") is None:
        pytest.skip("clickhouse-server is not there")
    said, whole = on_a_disk_of_its_own(SERVER, tmp_path / "disk", tmp_path / "spool", size=60)
    assert said.startswith("waiting "), said
    assert whole == "True"
