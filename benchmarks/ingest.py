"""The whole service beside its own analysis: what a steady stream of exports suffers while windows are analysed.

    python -m benchmarks.ingest [--rate 20000] [--seconds 30]

`prism serve` listens on a real socket, keeps records in an embedded store and analyses. Another process sends `rate` records
of IPFIX per second: a simulated job as it would be exported now, and small records between others to fill up. `delay` is from a
record's end, which the exporter tells within 20 ms, until the analysis and the store are given it: of those that came while a
window was analysed, and of the others. Exit 1 where a datagram was lost or a record was not decoded.
"""

from __future__ import annotations

import argparse
import bisect
import multiprocessing
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.udp import RECORDS, ipfix_template
from collectors.columns.record import Flows, Transits
from collectors.operations.metrics import flat
from prism.app.serve import Parts, ServeOptions, serve
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from prism.tracking.board import Board
from prism.tracking.record_windows import SECOND

TICK_S = 0.02
ROW = np.dtype(
    [(name, ">u4") for name in ("src", "dst")]
    + [(name, ">u2") for name in ("src_port", "dst_port")]
    + [(name, "u1") for name in ("protocol", "flags", "tos", "ttl")]
    + [(name, ">u8") for name in ("octets", "packets", "start_ms", "end_ms")]
)


def job_rows(seconds: float, faults: Sequence[Fault] = ()) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Make the exports of a job with these faults, sorted by time, ns from the start."""
    steps = int(seconds / 0.45) + 8
    job = Job(dp=2, pp=4, micro=4, steps=steps, forward_ms=20, backward_ms=40, gradient_octets=4_000_000, transport="tcp")
    flows = simulate(Spec("ingest", Cluster(hosts=8, nic_gbit=8.0), (job,), tuple(faults)), 1).flows
    flows = flows.take(np.argsort(flows.end_ns, kind="stable"))
    first = int(flows.start_ns.min())
    rows = np.zeros(len(flows), ROW)
    address = np.array([int.from_bytes(socket.inet_aton(text), "big") for text in flows.endpoints], np.uint32)
    rows["src"], rows["dst"] = address[flows.src], address[flows.dst]
    for name in ("src_port", "dst_port", "protocol", "octets", "packets"):
        rows[name] = getattr(flows, name)
    rows["start_ms"], rows["end_ms"] = (flows.start_ns - first) // 10**6, (flows.end_ns - first) // 10**6
    return rows, flows.end_ns - first


def send(
    port: int, rate: int, seconds: float, said: multiprocessing.connection.Connection, faults: Sequence[Fault] = ()
) -> None:
    """Export a job, filled up to `rate` records per second, in real time; sends the counts of datagrams and records."""
    rows, due = job_rows(seconds, faults)
    rng = np.random.default_rng(1)
    small = np.zeros(rate, ROW)
    small["src"], small["dst"] = (0x0AC80000 + rng.integers(0, 4096, (2, rate))).astype(">u4")
    small["src_port"], small["dst_port"], small["protocol"], small["octets"], small["packets"] = 40_000, 9100, 6, 80, 1
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", port))
    sock.send(ipfix_template())
    datagrams, records, at, filled = 1, 0, 0, 0
    began = time.time_ns()
    while (passed := time.time_ns() - began) < seconds * SECOND:
        to = int(np.searchsorted(due, passed))
        more = max(int(passed * rate / SECOND) - filled - to, 0)
        now = np.concatenate([rows[at:to], small[:more]]).astype(ROW)  # concatenating swaps octets
        now["start_ms"][: to - at] += began // 10**6
        now["end_ms"][: to - at] += began // 10**6
        now["start_ms"][to - at :] = now["end_ms"][to - at :] = (began + passed) // 10**6
        for start in range(0, len(now), RECORDS):
            part = now[start : start + RECORDS].tobytes()
            size = 16 + 4 + len(part)
            sock.send(struct.pack(">HHIIIHH", 10, size, int(time.time()), records & 0xFFFFFFFF, 1, 256, 4 + len(part)) + part)
            datagrams, records = datagrams + 1, records + len(part) // ROW.itemsize
        at, filled = to, filled + more
        time.sleep(max(TICK_S - (time.time_ns() - began - passed) / SECOND, 0.0))
    said.send((datagrams, records))


@dataclass
class Probe:
    """Observes a service: times of analysed windows, and delays of records."""

    began: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    delays: list[NDArray[np.int64]] = field(default_factory=list)
    jobs: int = 0

    @contextmanager
    def on(self, parts: Parts) -> Iterator[None]:
        """Observe a service while the context lasts."""
        add, look = parts.watch.add, parts.watch.analyse_window

        def adding(records: Flows | Transits, arrived_ns: int) -> None:
            if isinstance(records, Flows):
                self.arrived.append(arrived_ns)
                self.delays.append(arrived_ns - records.end_ns)
            add(records, arrived_ns)

        def looking(now_ns: int, *, last: bool = False, again: bool = False) -> Board:
            began = time.time_ns()
            board = look(now_ns, last=last, again=again)
            self.began.append(began)
            self.ended.append(time.time_ns())
            self.jobs = len(board.jobs)
            return board

        parts.watch.add, parts.watch.analyse_window = adding, looking  # type: ignore[method-assign]
        yield

    def split(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Split delays of records into those that arrived during an analysis, and others, ms."""
        inside: list[NDArray[np.int64]] = []
        outside: list[NDArray[np.int64]] = []
        for at, delays in zip(self.arrived, self.delays, strict=True):
            i = bisect.bisect_right(self.began, at) - 1
            (inside if i >= 0 and at <= self.ended[i] else outside).append(delays)
        busy, idle = (np.concatenate([np.zeros(0, np.int64), *parts]) / 1e6 for parts in (inside, outside))
        return busy, idle


def measured(rate: int, seconds: float, folder: Path) -> Iterator[str]:
    """Yield a word on losses (or none), then the lines of a run."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    probe, counts = Probe(), dict[str, float]()
    spawn = multiprocessing.get_context("spawn")
    heard, said = spawn.Pipe(duplex=False)

    @contextmanager
    def driven(parts: Parts) -> Iterator[None]:
        def drive() -> None:
            sender = spawn.Process(target=send, args=(port, rate, seconds, said))
            sender.start()
            sender.join()
            time.sleep(1.0)
            counts.update(flat(parts.counts()))
            os.kill(os.getpid(), signal.SIGTERM)

        driver = threading.Thread(target=drive)
        driver.start()
        with probe.on(parts):
            yield
        driver.join()

    began = time.process_time()
    serve(ServeOptions(str(folder / "store"), folder / "spool", [f"ipfix://127.0.0.1:{port}"]), shown=[driven])
    took = time.process_time() - began
    datagrams, records = heard.recv()
    received, decoded = (int(counts[name]) for name in ("datagrams_received", "records"))
    lost = int(sum(count for name, count in counts.items() if name.startswith("kernel_lost")))
    yield "whole" if (received, decoded, lost) == (datagrams, records, 0) else ""
    yield f"sent {datagrams:,} datagrams, {records:,} records; received {received:,} and {decoded:,}, lost in the kernel {lost}"
    analysing = sum(b - a for a, b in zip(probe.began, probe.ended, strict=True)) / SECOND / seconds
    yield f"{len(probe.began)} windows, {probe.jobs} jobs at the end; a window was analysed for {analysing:.0%} of the time"
    yield f"processor {took / seconds:.0%} of a core"
    yield f"{'delay, ms':16}{'records':>12}{'median':>9}{'99 %':>9}{'99.9 %':>9}{'most':>9}"
    for name, delays in zip(("window analysed", "none"), probe.split(), strict=True):
        if len(delays):
            cells = "".join(f"{value:9.1f}" for value in (*np.percentile(delays, (50, 99, 99.9)), delays.max()))
            yield f"{name:16}{len(delays):12,}{cells}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the results of a stream; return 1 after a loss."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rate", type=int, default=20_000, help="records per second")
    parser.add_argument("--seconds", type=float, default=30.0)
    asked = parser.parse_args(argv)
    with TemporaryDirectory(prefix="prism-") as folder:
        whole, *lines = measured(asked.rate, asked.seconds, Path(folder))
    print("\n".join(lines))
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
