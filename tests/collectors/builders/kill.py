"""Processes killed at random moments while records go into the store; every record is counted afterwards.

    python -m tests.collectors.builders.kill [--times 30] [--seed 0] [--only embedded,server,away,minute]

embedded and server: the collector is killed, of the embedded store every other time as soon as the engine has noted a batch,
which it does before it has it. away: the server is. minute: the server is killed once and away for a minute. Each
record has a number; a collector says up to which number its spool has acknowledged. None of those may be missing afterwards,
and no record may be there twice.
"""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from collectors.clickhouse.drivers import opened
from collectors.store.store_sink import Storing
from tests.collectors.builders import servers, stores

ROWS, STEP = 4000, 1000
FEW = 3  # batches: the disk is faster than the store, and what only waits is nothing to kill
ROUND = 1 << 32  # numbers of one life of a collector


def sink(where, spool, seconds=0.02):
    return Storing(where, spool, rows=ROWS, seconds=seconds)


def collect(where, spool, first):
    """A collector that writes records and says what is acknowledged, for ever."""
    made, number = sink(where, spool), first
    while True:
        made.write(stores.flows(STEP, now_ns=time.time_ns(), first=number, seed=number))
        number += STEP
        made.tick(time.time_ns())
        if made.waiting == 0:
            print(number, flush=True)
        while len(made.spool) > FEW:
            time.sleep(0.001)


def noted(where, table):
    """How much the embedded engine has noted of what it takes, octets."""
    with contextlib.suppress(FileNotFoundError), os.scandir(f"{where}/data/prism/{table}/deduplication_logs") as files:
        return sum(file.stat().st_size for file in files)
    return 0


def life(where, spool, first, rng, most_s, table=""):
    """Start a collector, kill it some time after its first acknowledgment, as soon as a batch of a `table` is noted if there is
    one; up to which number it acknowledged.
    """
    command = [sys.executable, "-m", "tests.collectors.builders.kill", "--collect", where, str(spool), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.readline()
        assert said, "the collector did not start"
        time.sleep(rng.uniform(0, most_s))
        before, until = noted(where, table) if table else 0, time.monotonic() + 3
        while table and noted(where, table) == before and time.monotonic() < until:
            pass
        process.kill()
        whole = [said, *(line for line in process.stdout if line.endswith("\n"))]
        return int(whole[-1])


def drain(made):
    """Wait until the store has all that is spooled, for as long as it gets on."""
    left, until = made.spool.records, time.monotonic() + 120
    while len(made.spool):
        if made.spool.records < left:
            left, until = made.spool.records, time.monotonic() + 120
        assert time.monotonic() < until, made.health()
        time.sleep(0.02)


def drained(where, spool):
    """What was known already, when the store has all that is spooled."""
    made = sink(where, spool)
    drain(made)
    fates = made.records_by_result()
    assert made.taken == sum(fates.values())
    assert not any(reason.startswith("dropped") for reason in fates)
    made.close()
    return fates["deduplicated"]


def counted(where, acknowledged):
    """Raises AssertionError unless each acknowledged record is there, and none twice; how many there are."""
    database = opened(where)
    found = np.sort(database.query("SELECT busy_ns FROM flows")["busy_ns"].astype(np.int64))
    rolled = int(database.query("SELECT sum(records) AS n FROM flow_pairs")["n"][0])
    database.close()
    assert np.all(np.diff(found) > 0), "a record is there twice"
    for first, end in acknowledged:
        there = np.searchsorted(found, end) - np.searchsorted(found, first)
        assert there == end - first, f"{end - first - there} of {end - first} acknowledged records are lost"
    assert rolled == len(found), f"the sums by pair are of {rolled} records, not of {len(found)}"
    return len(found)


def kill_collectors(where, spool, times, *, seed=0, most_s=0.6):
    """Kill collectors so many times; records found, and how many of them a batch brought that was there already."""
    rng = random.Random(seed)
    tables = ("",) if "://" in where else ("flows", "", "flow_pairs", "")
    acknowledged = [(i * ROUND, life(where, spool, i * ROUND, rng, most_s, tables[i % len(tables)])) for i in range(times)]
    again = drained(where, spool)
    return counted(where, acknowledged), again


def kill_servers(server, spool, times, *, seed=0, most_s=0.3):
    """Kill the server so many times while records go in; records found, and how many were there already."""
    rng, made, number = random.Random(seed), sink(server.url, spool), 0
    for _ in range(times):
        until = time.monotonic() + rng.uniform(0.05, most_s)
        before = made.records_by_result()["stored"]
        while time.monotonic() < until or made.records_by_result()["stored"] == before:
            made.write(stores.flows(STEP, now_ns=time.time_ns(), first=number, seed=number))
            number += STEP
            made.tick(time.time_ns())
            while len(made.spool) > FEW and made.records_by_result()["stored"] == before:
                assert time.monotonic() < until + 120, made.health()
                time.sleep(0.001)
        server.kill()
        server.start()
    made.flush()
    drain(made)
    fates = made.records_by_result()
    made.close()
    assert made.taken == sum(fates.values()) == number
    return counted(server.url, [(0, number)]), fates["deduplicated"]


def leave_servers(server, spool, seconds):
    """Kill the server once, for so long, while records go in; records found, and how many waited on disk when it came back."""
    made, number = sink(server.url, spool, seconds=1.0), 0

    def write(until):
        nonlocal number
        while time.monotonic() < until:
            made.write(stores.flows(STEP, now_ns=time.time_ns(), first=number, seed=number))
            number += STEP
            made.tick(time.time_ns())
            time.sleep(0.05)

    write(time.monotonic() + 1)
    server.kill()
    write(time.monotonic() + seconds)
    found, spooled = made.health(), made.spool.records
    assert found["state"] == "waiting", found
    assert found["oldest_s"] > seconds / 2
    server.start()
    write(time.monotonic() + 1)
    made.flush()
    drain(made)
    made.close()
    assert made.taken == sum(made.records_by_result().values()) == number
    return counted(server.url, [(0, number)]), spooled


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="embedded,server,away,minute")
    parser.add_argument("--collect", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.collect:
        where, spool, first = asked.collect
        collect(where, spool, int(first))
    for kind in asked.only.split(","):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if kind == "embedded":
                found = kill_collectors(str(folder / "store"), folder / "spool", asked.times, seed=asked.seed)
            else:
                with servers.running(folder / "server") as server:
                    if kind == "server":
                        found = kill_collectors(server.url, folder / "spool", asked.times, seed=asked.seed)
                    elif kind == "minute":
                        found = leave_servers(server, folder / "spool", 60)
                        print(f"minute: {found[0]:,} records, none lost, none twice; {found[1]:,} waited on disk", flush=True)
                        continue
                    else:
                        found = kill_servers(server, folder / "spool", asked.times, seed=asked.seed)
        took = time.monotonic() - began
        print(
            f"{kind}: {asked.times} kills, {found[0]:,} records, none lost, none twice; {found[1]:,} known; {took:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
