"""One minute of a cluster from flow records to the report, on one core: records/s and memory, by size.

    python -m benchmarks.analysis [--gpus N]... [--records N] [--steps N] [--rounds N] [--cache DIR]
        [--only LAYOUT]... [--whole] [--profile]

A cluster of N GPUs runs jobs of all layouts of benchmarks.grid: one of a quarter of the GPUs with tensor parallelism inside
hosts, one of an eighth with experts (of no more than 4,096 GPUs), the others of 64, some of 128 GPUs. With `--whole` all are
one job. Every layout and size is simulated once, some with a slow rank, step by step until each GPU has about `--records` of
its own (5,000) and the job `--steps` steps, so that a million a second come from 10,000 GPUs. Twins of a job are the same
records at other endpoints, a little later, since simulating takes longer than analysing. All are stretched to one minute, put
in order of time and kept in `--cache`, as a collector would hand them over. The clock starts when they are in memory and
stops when the report is text; records/s and ns/record are of CPU time, so that others on the machine do not count. Of several
`--rounds` in one process the first loads compiled loops and has memory from the kernel; what comes after it is what a service
takes that goes on.

Beside it, of the same records in the same process: `sort` is how many times as long the analysis takes as NumPy to sort their
starts, `sums` as ClickHouse (chdb, one thread) to sum them up by pair of endpoints.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy import forget_peak, peak_mib
from benchmarks.grid import LAYOUTS
from collectors.columns.record import COLUMNS, Flows, Transits
from collectors.memory.allocator import keep_freed, reduce_collections
from prism.analysis import diagnose
from prism.model import Source
from prism.report import json_report
from prism.synth.scenario.specification import Fault, Spec
from prism.synth.simulation import simulate
from prism.topology import Endpoint, Topology

MINUTE = 60_000_000_000
START = 1_790_000_000_000_000_000
STEPS = 12  # fewer steps are not representative


class Made(NamedTuple):
    """A simulated job: records from 0 to a minute, and host, rail and leaf of each endpoint, numbered from 0."""

    flows: Flows
    places: list[tuple[int, int, int]]

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return max(host for host, _, _ in self.places) + 1


def sizes(gpus: int, only: Sequence[str], *, whole: bool = False) -> Iterator[tuple[str, int]]:
    """Yield layout and size of each job of a cluster with `gpus` GPUs; if `whole`, it is one job."""
    names, left = list(only or LAYOUTS), gpus
    if whole:
        yield names[0], gpus
        return
    for name, size in (("tp-placed", gpus // 256 * 64), ("moe", gpus // 512 * 64)):  # whole leaves
        size = min(size, 4096)
        if name in names and size > 256:
            yield name, size
            left -= size
    for turn in range(gpus):
        name = names[turn % len(names)]
        size = 64 << (name == "ddp" and turn // len(names) % 2)
        size = 8 if name == "pp-only" else size
        if left < size:
            return
        yield name, size
        left -= size


def made(layout: str, size: int, records: int, least: int = STEPS) -> Made:
    """Simulate one job with `records` per GPU, but at least `least` steps."""
    rng = np.random.default_rng([5, len(layout), size])
    cluster, job = LAYOUTS[layout](rng, size)
    cluster = replace(cluster, hosts_per_leaf=min(cluster.hosts, 16), spines=4)
    short = simulate(Spec("short", cluster, (replace(job, steps=2),)))
    steps = max(round(2 * records * job.world / len(short.flows)), least)
    slow = Fault("compute_slow", ranks=(job.world // 3,), first=steps // 2, stop=steps // 2 + 5, factor=1.6)
    done = simulate(Spec("whole", cluster, (replace(job, steps=steps),), (slow,) if size > 64 else ()))
    flows, life = done.flows, done.flows.window[1] - done.flows.window[0]
    stretch = 0.98 * MINUTE / life
    start, end = (np.rint((side - flows.window[0]) * stretch).astype(np.int64) for side in (flows.start_ns, flows.end_ns))
    flows = replace(flows, start_ns=start, end_ns=end, busy_ns=np.rint(flows.busy_ns * stretch).astype(np.int64))
    known = done.topology["endpoints"]
    numbers = [known[address] for address in flows.endpoints if address in known]
    places = [(int(n["host"][6:]), int(n["rail"]), int(n["leaf"][4:])) for n in numbers]
    return Made(flows, places)


def built(gpus: int, records: int, only: Sequence[str], folder: Path, least: int = STEPS, *, whole: bool = False) -> None:
    """Simulate a cluster into a folder: a file per column that is not constant, and the dictionaries."""
    jobs: dict[tuple[str, int], Made] = {}
    parts: list[tuple[Made, int, int]] = []  # job, its first endpoint, its delay, ns
    places: list[tuple[str, str, int, str]] = []  # address, host, rail, leaf
    hosts = blocks = 0
    rng = np.random.default_rng(1)
    for layout, size in sizes(gpus, only, whole=whole):
        if (layout, size) not in jobs:
            jobs[layout, size] = made(layout, size, records, least)
        one = jobs[layout, size]
        parts.append((one, len(places), int(rng.integers(0, MINUTE // 50))))
        for host, rail, leaf in one.places:
            number = hosts + host
            address = f"{10 + (number >> 16)}.{number >> 8 & 255}.{number & 255}.{rail + 1}"
            places.append((address, f"server{number}", rail, f"leaf{blocks + leaf}"))
        hosts += one.hosts
        blocks += max(leaf for _, _, leaf in one.places) + 1
    folder.mkdir(parents=True, exist_ok=True)
    start = np.concatenate([one.flows.start_ns + later for one, _, later in parts])
    order = np.argsort(start, kind="stable")
    constant: dict[str, int] = {}
    for column in COLUMNS:
        values = np.concatenate([_column(one, column.name, first, later) for one, first, later in parts])
        if len(values) and (values == values[0]).all():
            constant[column.name] = int(values[0])
        else:
            np.save(folder / f"{column.name}.npy", values[order])
    (folder / "cluster.json").write_text(json.dumps({"records": len(order), "constant": constant, "places": places}))


def _column(one: Made, name: str, first: int, later: int) -> Any:
    """Return one column of a job's records in the cluster."""
    column = getattr(one.flows, name)
    if name in ("start_ns", "end_ns"):
        return column + (START + later)
    if name in ("src", "dst"):
        return column + np.int32(first)
    return np.zeros_like(column) if name in ("exporter", "path") else column


def read(folder: Path) -> tuple[Flows, Topology]:
    """Read the records and the topology of a simulated cluster."""
    told = json.loads((folder / "cluster.json").read_text())
    columns: dict[str, Any] = {}
    for c in COLUMNS:
        value = told["constant"].get(c.name)
        whole = np.load(folder / f"{c.name}.npy") if value is None else np.full(1, value, c.dtype)
        columns[c.name] = whole if value is None else np.broadcast_to(whole, told["records"])
    endpoints = {address: Endpoint(host, rail, leaf) for address, host, rail, leaf in told["places"]}
    return Flows(**columns, endpoints=tuple(endpoints)), Topology(endpoints)


def yardsticks(flows: Flows) -> tuple[float, float]:
    """Measure the CPU seconds of NumPy's sort of the starts, and of ClickHouse's sums by pair."""
    begin = time.process_time()
    np.sort(flows.start_ns)
    middle = time.process_time()
    import chdb
    import pyarrow as pa

    names = ("start_ns", "end_ns", "src", "dst", "octets")
    table = pa.table({name: getattr(flows, name) for name in names})  # noqa: F841
    ready = time.process_time()
    sums = "min(start_ns), max(end_ns), sum(octets), count()"
    told = f"SELECT src, dst, {sums} FROM Python(table) GROUP BY src, dst SETTINGS max_threads = 1"
    chdb.query(told, "Arrow")  # type: ignore[no-untyped-call]
    return middle - begin, time.process_time() - ready


class Measured(NamedTuple):
    """Duration of an analysis, s, its CPU time, its peak memory, and its results."""

    took: float
    spent: float
    peak_mib: float
    jobs: int
    findings: int
    octets: int  # of the report


def analysed(flows: Flows, topology: Topology) -> Measured:
    """Analyse records to a report."""
    source = Source(("cluster",), 0, len(flows), {}, *flows.window)
    forget_peak()
    begin, worked = time.perf_counter(), time.process_time()
    found = diagnose(flows, source, topology=topology, transits=Transits.empty())
    text = json_report.dumps(found)
    took, spent = time.perf_counter() - begin, time.process_time() - worked
    return Measured(took, spent, peak_mib(), len(found.jobs), len(found.findings), len(text))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, action="append", help="size of a cluster (default 1000)")
    parser.add_argument("--records", type=int, default=5000, help="records per GPU")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps that each job has at least")
    parser.add_argument("--rounds", type=int, default=1, help="how often each cluster is analysed")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "prism-analysis")
    parser.add_argument("--only", action="append", default=[], choices=list(LAYOUTS), help="these layouts only")
    parser.add_argument("--whole", action="store_true", help="one job of all GPUs, of the first of these layouts")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    asked = parser.parse_args(argv)
    reduce_collections()
    keep_freed()  # as in `prism replay`
    widths = {"GPUs": 8, "jobs": 6, "records": 13, "s": 8, "CPU s": 8, "records/s": 13, "ns/record": 11, "peak MiB": 10}
    print("".join(f"{name:>{width}}" for name, width in (widths | {"sort": 7, "sums": 7}).items()))
    for gpus in asked.gpus or [1000]:
        least = [] if asked.steps == STEPS else [f"{asked.steps}steps"]
        folder = asked.cache / "-".join([str(gpus), str(asked.records), *least, *asked.only, *["whole"] * asked.whole])
        if not (folder / "cluster.json").exists():
            built(gpus, asked.records, asked.only, folder, asked.steps, whole=asked.whole)
        flows, topology = read(folder)
        profile = cProfile.Profile()
        if asked.profile:
            profile.enable()
        rounds = [analysed(replace(flows), topology) for _ in range(asked.rounds)]
        profile.disable()
        own = yardsticks(flows)
        for one in rounds:
            speed = f"{one.took:8.2f}{one.spent:8.2f}{len(flows) / one.spent:13,.0f}{one.spent / len(flows) * 1e9:11.0f}"
            speed += f"{one.peak_mib:10.0f}" + "".join(f"{one.spent / yardstick:6.1f}x" for yardstick in own)
            told = f"report {one.octets / 1e6:.0f} MB, {one.findings} findings"
            print(f"{gpus:8}{one.jobs:6}{len(flows):13,}{speed}  {told}")
        if asked.profile:
            for order in ("cumtime", "tottime"):
                pstats.Stats(profile).sort_stats(order).print_stats(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
