"""Rows per second into the store, and how long a question takes, embedded and on a server; each against the raw engine.

    python -m benchmarks.store [--rows 4000000] [--only embedded,server] [--query]

raw: the same columns, ready made, into a table of the same form, by nothing but the driver. sink: records written to the sink,
until the last one is in: sums by pair, spool with checksum and fsync, deduplication. Their ratio, taken in the same run, is
what compares; machines are noisy. Questions: one job's last minute of so many rows (`--rows`), 64 endpoints of 8192.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from collectors import flowrows
from collectors.clickhouse import Database, opened
from collectors.record import Flows
from collectors.storing import ROWS, Storing
from prism.stored import StoredRecords

JOBS, RANKS = 128, 64
MINUTES = 10
NS = 10**9


def cluster(count: int, seed: int, begin_ns: int, span_ns: int) -> Flows:
    """Records of a cluster of many jobs: each rank sends to few others, messages of few sizes; by start, within a span."""
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


def raw(database: Database, parts: Sequence[Flows]) -> float:
    """Rows per second of the driver alone; rows are made before."""
    table = replace(flowrows.FLOWS, name="raw")
    database.create(table)
    ready = [flowrows.rows(part) | {"batch": np.zeros(len(part), np.uint64)} for part in parts]
    began = time.perf_counter()
    for rows in ready:
        database.insert(table, rows)
    return sum(map(len, parts)) / (time.perf_counter() - began)


def sunk(where: str, spool: Path, parts: Sequence[Flows]) -> float:
    """Rows per second of the sink, from the first write until all are in the store."""
    sink = Storing(where, spool, keep_s=flowrows.KEEP_S)
    began = time.perf_counter()
    for part in parts:
        sink.write(part)
    sink.flush()
    while len(sink.spool):
        time.sleep(0.002)
    rate = sum(map(len, parts)) / (time.perf_counter() - began)
    assert sink.fates()["stored"] == sum(map(len, parts))
    sink.close()
    return rate


def ingest(where: str, folder: Path, count: int) -> tuple[float, float]:
    """Rows per second: raw, sink; medians of three turns each."""
    now = time.time_ns()
    size = min(ROWS, count)
    parts = [cluster(size, i, now - 60 * NS, 50 * NS) for i in range(max(1, count // size))]
    database = opened(where)
    rates = [(raw(database, parts), sunk(where, folder / "spool", parts)) for _ in range(3)]
    database.close()
    return statistics.median(r for r, _ in rates), statistics.median(s for _, s in rates)


def asked(where: str, count: int) -> Iterator[tuple[str, float]]:
    """Milliseconds of questions to a store of so many rows, which are inserted first."""
    end, database, done = time.time_ns() // NS * NS, opened(where), 0
    table, span = flowrows.FLOWS, MINUTES * 60 * NS
    database.create(table)
    pieces = max(1, count // ROWS)
    for i in range(pieces):
        part = cluster(ROWS, i, end - span + i * span // pieces, span // pieces)
        for number, rows in flowrows.pieces(part.start_ns, table.partition_ns).items():
            columns = flowrows.rows(part.take(rows)) | {"batch": np.full(len(rows), i, np.uint64)}
            database.insert(table, columns, token=f"{i}-{number}", again=False)
        done += len(part)
    stored = StoredRecords(database)
    job = part.endpoints[:RANKS]
    condition, ends = flowrows.among(job)
    last: dict[str, Any] = {"first": end - 60 * NS, "end": end, "from": (end - 60 * NS) // flowrows.BUCKET_NS, **ends}
    where_sql = f"intDiv(start_ns, {flowrows.BUCKET_NS}) >= {{from:Int64}} AND start_ns >= {{first:Int64}} AND {condition}"
    series = f"SELECT intDiv(start_ns, {NS}) AS s, sum(octets) AS o FROM flows WHERE {where_sql} GROUP BY s ORDER BY s"
    yield "rows", done
    yield "one job's last minute, per second", _median(lambda: database.query(series, last))
    found = stored.between(end - 60 * NS, end, endpoints=job)
    yield f"one job's last minute, {len(found)} records", _median(lambda: stored.between(end - 60 * NS, end, endpoints=job))
    yield "pairs of all jobs, last minute, of records", _median(lambda: stored.pairs(end - 59 * NS, end))
    database.close()


def _median(ask: Callable[[], Any]) -> float:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        ask()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--only", default="embedded,server")
    parser.add_argument("--query", action="store_true")
    wish = parser.parse_args(arguments)
    for kind in wish.only.split(","):
        with tempfile.TemporaryDirectory() as name, ExitStack() as undo:
            folder = Path(name)
            if kind == "server":
                servers = importlib.import_module("tests.collectors.servers")
                where = undo.enter_context(servers.running(folder / "server")).url
            else:
                where = str(folder / "store")
            if wish.query:
                for what, number in asked(where, wish.rows):
                    print(f"{kind}: {what}: {number:,.0f}" + ("" if what == "rows" else " ms"), flush=True)
                continue
            bare, whole = ingest(where, folder, wish.rows)
            print(
                f"{kind:9} raw {bare / 1e6:5.2f} M rows/s, sink {whole / 1e6:5.2f} M rows/s = {whole / bare:.2f} × raw",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
