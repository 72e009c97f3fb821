"""Measure rows per second of writing and reading dumps by format, compared with pyarrow's plain reading of the same file.

    python -m benchmarks.dumps [ROWS]

Machines differ and are noisy; compare the ratio to pyarrow from the same run. pyarrow reads all columns into memory in its own
types, without checks; we check every row, convert addresses to codes, and sort by start.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from collectors.columns.record import Flows
from collectors.formats import file_types
from collectors.writers import record_files

NFDUMP = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n"


class Measured(NamedTuple):
    """One format: its size, and seconds of writing (0 if unsupported), reading, and pyarrow's reading."""

    name: str
    octets: int
    write: float
    read: float
    bare: float


def example(rows: int, seed: int = 0) -> Flows:
    """Make records like those of a cluster of 1,000 GPUs: RDMA messages over ten minutes, seen by 16 leaves."""
    chance = np.random.default_rng(seed)
    start = np.sort(1_795_214_542_677_184_076 + chance.integers(0, 600 * 10**9, rows))
    columns: dict[str, Any] = {
        "start_ns": start,
        "end_ns": start + chance.integers(0, 10**8, rows),
        "src": chance.integers(0, 1000, rows),
        "dst": chance.integers(0, 1000, rows),
        "src_port": np.zeros(rows),
        "dst_port": np.full(rows, 4791),
        "protocol": np.full(rows, 17),
        "dst_qp": chance.integers(0, 1 << 16, rows),
        "octets": chance.integers(0, 1 << 24, rows),
        "packets": chance.integers(0, 1 << 12, rows),
        "messages": np.ones(rows),
        "busy_ns": chance.integers(0, 10**7, rows),
        "exporter": chance.integers(0, 16, rows),
        "path": chance.integers(0, 64, rows),
    }
    paths = ((), *((f"leaf{i % 16}", f"spine{i % 4}", f"leaf{i * 7 % 16}") for i in range(1, 64)))
    endpoints = tuple(f"10.{i // 8}.{i % 8}.1" for i in range(1000))
    return Flows.build(columns, endpoints=endpoints, exporters=tuple(f"leaf{i}" for i in range(16)), paths=paths)


def _nfdump(path: Path, flows: Flows) -> None:
    """Write records in nfdump's CSV format."""
    names = ("start_ns", "end_ns", "src", "dst", "src_port", "dst_port", "packets", "octets")
    with path.open("w") as file:
        file.write(NFDUMP)
        for begin, end, src, dst, here, there, packets, octets in zip(
            *(getattr(flows, n).tolist() for n in names), strict=True
        ):
            when = np.datetime64(begin // 10**6, "ms").item().isoformat(" ", "milliseconds")
            ends = f"{flows.endpoints[src]},{here},{flows.endpoints[dst]},{there}"
            file.write(f"{when},{(end - begin) / 1e9:.3f},UDP,{ends},{packets},{octets},1\n")


BARE: dict[str, Callable[[str], Any]] = {
    ".csv": pyarrow.csv.read_csv,
    ".csv.gz": pyarrow.csv.read_csv,  # decompresses by file name
    ".jsonl": pyarrow.json.read_json,
    ".parquet": pyarrow.parquet.read_table,
    "-nfdump.csv": pyarrow.csv.read_csv,
}


def _timed(run: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def measure(folder: Path, rows: int, repeats: int = 3) -> list[Measured]:
    """Measure the best of a few runs of every format."""
    flows = example(rows)
    found = []
    for ending, bare in BARE.items():
        path = folder / f"flows{ending}"
        ours = ending != "-nfdump.csv"
        if not ours:
            _nfdump(path, flows)
        write = _timed(lambda path=path: record_files.write(path, flows), 1) if ours else 0.0  # type: ignore[misc]
        read = _timed(lambda path=path: file_types.open_records(path).flows(), repeats)  # type: ignore[misc]
        alone = _timed(lambda path=path, bare=bare: bare(str(path)), repeats)  # type: ignore[misc]
        found.append(Measured(ending.lstrip(".-"), path.stat().st_size, write, read, alone))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line per format."""
    words = list(sys.argv[1:] if argv is None else argv)
    rows = int(words[0]) if words else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        for m in measure(Path(folder), rows):
            wrote = f"{rows / m.write:12,.0f} rows/s written" if m.write else " " * 27
            read = f"{rows / m.read:12,.0f} rows/s read  {m.read / m.bare:5.1f} × pyarrow"
            print(f"{m.name:12}{m.octets / rows:7.1f} octets/row{wrote}{read}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
