"""Rows per second into the store, and how long a question takes, embedded and on a server; each against the raw engine.

    python -m benchmarks.store [--rows 4000000] [--only embedded,server]
    python -m benchmarks.store --query --rows 100000000 [--only embedded,server]

raw: the same columns, ready made, into a table of the same form, by nothing but the driver; ordered: the same in the order of
the table. sink: records written to the sink, until the last one is in: sums by pair, spool with checksum and fsync,
deduplication. Their ratios, taken in the same run, are what compares; machines are noisy. After the rate by the clock comes the
one by processor time, of this process and the server, merges of parts included as far as they go on meanwhile.

Questions: one job's last minute of so many rows of ten minutes, 64 endpoints of 8192, and more. The engine makes the rows
itself; 100 million take some minutes and 1.3 GB, which are gone afterwards.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from collectors.addresses import address_halves
from collectors.clickhouse.drivers import Database, Table, opened
from collectors.clickhouse.schema import MAX_ROWS
from collectors.columns.record import Flows
from collectors.store import flow_rows
from collectors.store.store_sink import ROWS, Storing
from prism.storage.stored_flows import StoredRecords

RAW = replace(flow_rows.FLOWS, name="raw")
COUNTS = ("rows", "parts")
JOBS, RANKS = 128, 64
MINUTES = 10
NS = 10**9


def cluster(count: int, seed: int, begin_ns: int, span_ns: int) -> Flows:
    """Make records of a cluster of many jobs: each rank sends to few others, messages of few sizes; by start, within a span."""
    rng = np.random.default_rng(seed)
    src = rng.integers(0, JOBS * RANKS, count)
    step = rng.choice([1, 1, 1, 2, RANKS - 1, 8], count)
    dst = src // RANKS * RANKS + (src + step) % RANKS
    start = np.sort(begin_ns + rng.integers(0, span_ns, count))
    octets = rng.choice([1 << 20, 1 << 20, 4 << 20, 64], count)
    return Flows.build(
        {
            "start_ns": start,
            "end_ns": start + octets // 25 + rng.integers(0, 1000, count),
            "src": src,
            "dst": dst,
            "dst_port": np.full(count, 4791),
            "protocol": np.full(count, 17),
            "dst_qp": src * 16 + step % 16,
            "octets": octets,
            "packets": octets // 4096 + 1,
            "messages": np.ones(count),
            "busy_ns": octets // 50,
            "exporter": src // 256,
            "path": src // 256 + 1,
        },
        endpoints=tuple(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}" for i in range(JOBS * RANKS)),
        exporters=tuple(f"leaf{i}" for i in range(JOBS * RANKS // 256)),
        paths=((), *((f"leaf{i}", f"spine{i % 4}") for i in range(JOBS * RANKS // 256))),
    )


class Rate(NamedTuple):
    """Million rows per second: by the clock, and by processor time."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{self.clock:.2f} ({self.processor:.2f})"


def measured(count: int, work: Callable[[], None], spent: Callable[[], float]) -> Rate:
    """Measure the rate of work on `count` rows."""
    began, before = time.perf_counter(), spent()
    work()
    return Rate(count / (time.perf_counter() - began) / 1e6, count / max(spent() - before, 1e-9) / 1e6)


def raw(database: Database, ready: Sequence[dict[str, Any]]) -> None:
    """Insert rows by the driver alone."""
    for rows in ready:
        database.insert(RAW, rows)


def sunk(sink: Storing, parts: Sequence[Flows]) -> None:
    """Write records to the sink, and wait until all are in the store."""
    for part in parts:
        sink.write(part)
    sink.flush()
    while len(sink.spool):
        time.sleep(0.002)
    assert sink.records_by_result()["stored"] == sum(map(len, parts))


def ingest(where: str, folder: Path, count: int, spent: Callable[[], float] = time.process_time) -> tuple[Rate, Rate, Rate]:
    """Measure rates of raw, ordered, sink: each the median of three runs from empty tables."""
    now = time.time_ns()
    size = min(ROWS, count)
    parts = [cluster(size, i, now - 60 * NS, 50 * NS) for i in range(max(1, count // size))]
    made = [[flow_rows.to_rows(part) for part in kind] for kind in (parts, map(flow_rows.sort_records, parts))]
    ready = [[rows | {"batch": np.zeros(size, np.uint64)} for rows in kind] for kind in made]
    database, rates = opened(where), list[tuple[Rate, ...]]()
    for turn in range(3):
        found = []
        for kind in ready:
            quiet(database, RAW)
            found.append(measured(size * len(parts), partial(raw, database, kind), spent))
        quiet(database, RAW, *flow_rows.TABLES)
        sink = Storing(where, folder / f"spool{turn}")
        found.append(measured(size * len(parts), partial(sunk, sink, parts), spent))
        sink.close()
        rates.append(tuple(found))
    database.close()
    raws, ordered, sinks = (sorted(one)[1] for one in zip(*rates, strict=True))
    return raws, ordered, sinks


def quiet(database: Database, *some: Table) -> None:
    """Recreate tables after background work has ended."""
    for table in some:
        database.query(f"DROP TABLE IF EXISTS {table.name}")
        database.create(table)
    while database.query("SELECT count() AS n FROM system.merges")["n"][0]:
        time.sleep(0.05)


def fill(database: Database, count: int, end_ns: int) -> None:
    """Fill the table with rows like those of `cluster` in the ten minutes before `end_ns`, made by the engine."""
    span = MINUTES * 60 * NS
    low, kept = f"{0xFFFF << 32 | 10 << 24}", [c.name for c in flow_rows.FLOWS.kept(plain=False)]
    made = {name: f"toUInt32({default})" for name, default in (("packets", "intDiv(octets, 4096) + 1"), ("messages", "1"))}
    made |= {
        "end_ns": "start_ns + toInt64(intDiv(octets, 25)) + toInt64(intDiv(h, 4096) % 1000)",
        "src_low": f"toUInt64({low} + rank)",
        "dst_low": f"toUInt64({low} + intDiv(rank, {RANKS}) * {RANKS} + (rank + step) % {RANKS})",
        "dst_port": "toUInt16(4791)",
        "protocol": "toUInt8(17)",
        "dst_qp": "toUInt32(rank * 16 + step % 16)",
        "busy_ns": "intDiv(octets, 50)",
        "sampling_rate": "toUInt32(1)",
        "exporter": "concat('leaf', toString(intDiv(rank, 256)))",
        "path": "concat('leaf', toString(intDiv(rank, 256)), '|spine', toString(intDiv(rank, 256) % 4))",
        "start_ns": "start_ns",
        "octets": "octets",
    }
    names, values = ", ".join(kept), ", ".join(f"{made.get(name, '0')} AS {name}" for name in kept)
    pieces = max(1, count // MAX_ROWS)
    for i in range(pieces):
        begin, size = end_ns - span + i * span // pieces, count // pieces
        drawn = f"""SELECT intHash64(number) AS h, intHash64(h) AS g, h % {JOBS * RANKS} AS rank,
            [1, 1, 1, 2, {RANKS - 1}, 8][intDiv(g, 8192) % 6 + 1] AS step,
            toInt64({begin}) + toInt64(g % {span // pieces}) AS start_ns,
            toUInt64([1048576, 1048576, 4194304, 64][intDiv(h, 65536) % 4 + 1]) AS octets FROM numbers({i * size}, {size})"""
        database.query(f"INSERT INTO flows ({names}) SELECT {values} FROM ({drawn})")


def asked(where: str, count: int) -> Iterator[tuple[str, float]]:
    """Yield the milliseconds of queries to a store with `count` rows, which are made first."""
    end, database = time.time_ns() // NS * NS, opened(where)
    stored = StoredRecords(database)
    fill(database, count, end)
    job = [f"10.0.0.{i}" for i in range(RANKS)]
    condition, ends = address_halves.endpoint_condition(job)
    last: dict[str, Any] = {"first": end - 60 * NS, "end": end, "from": (end - 60 * NS) // flow_rows.BUCKET_NS, **ends}
    where_sql = f"intDiv(start_ns, {flow_rows.BUCKET_NS}) >= {{from:Int64}} AND start_ns >= {{first:Int64}} AND {condition}"
    series = f"SELECT intDiv(start_ns, {NS}) AS s, sum(octets) AS o FROM flows WHERE {where_sql} GROUP BY s ORDER BY s"
    yield "rows", int(database.query("SELECT count() AS n FROM flows")["n"][0])
    parts = "SELECT count() AS n FROM system.parts WHERE active AND table = 'flows' AND database = currentDatabase()"
    yield "parts", int(database.query(parts)["n"][0])
    yield "one job's last minute, per second", _median(lambda: database.query(series, last))
    found = stored.between(end - 60 * NS, end, endpoints=job)
    yield f"one job's last minute, {len(found):,} records", _median(lambda: stored.between(end - 60 * NS, end, endpoints=job))
    yield "pairs of all jobs, last minute, of records", _median(lambda: stored.pairs(end - 59 * NS, end))
    database.close()


def _median(ask: Callable[[], Any]) -> float:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        ask()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def _spent(process: int | None) -> float:
    """Return the processor time of this process and a server, s."""
    other = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split() if process else []
    return time.process_time() + sum(map(int, other[11:13])) / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--only", default="embedded,server")
    parser.add_argument("--query", action="store_true")
    wish = parser.parse_args(arguments)
    for kind in wish.only.split(","):
        with tempfile.TemporaryDirectory() as name, ExitStack() as undo:
            folder, process = Path(name), None
            if kind == "server":
                servers = importlib.import_module("tests.collectors.builders.servers")
                server = undo.enter_context(servers.running(folder / "server"))
                where, process = server.url, server.process.pid
            else:
                where = str(folder / "store")
            if wish.query:
                for what, number in asked(where, wish.rows):
                    print(f"{kind}: {what}: {number:,.0f}" + ("" if what in COUNTS else " ms"), flush=True)
                continue
            raws, ordered, sinks = ingest(where, folder, wish.rows, partial(_spent, process))
            shares = f"{sinks.clock / raws.clock:.2f} × raw, {sinks.clock / ordered.clock:.2f} × ordered"
            print(f"{kind:9} M rows/s: raw {raws}, ordered {ordered}, sink {sinks} = {shares}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
