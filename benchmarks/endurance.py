"""A live analysis for long, and beside records that come all the time: `python -m benchmarks.live --hour` and `--ingest`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import grid
from benchmarks.accuracy import Input, of_case
from collectors.record import Transits
from collectors.sinks import Nowhere
from prism.analysing import Watched
from prism.following import loud
from prism.playing import Tick, play, ticks
from prism.spread import workers
from prism.synth.spec import Cluster, Job, Spec
from prism.watch import Watch
from prism.windows import SECOND


def small() -> Input:
    """A small healthy cluster in steps of two seconds: an hour of it can be played in minutes."""
    job = Job(
        pp=2, dp=4, micro=4, steps=48, forward_ms=120, backward_ms=240, gradient_octets=40_000_000, activation_octets=4_000_000
    )
    return of_case(grid.Case("small", "pp2dp4", "small", "none", "none", "none", Spec("small", Cluster(hosts=8), (job,)), 1))


def hour(one: Input, *, seconds: float = 3600.0, rows: int = 6) -> Iterator[str]:
    """An input played again and again: analysis time per recorded second and memory, in equal parts of the time."""
    flows, _, source, placed, _ = one.open()
    length = source.end_ns - source.start_ns
    gap = int(np.median(np.diff(np.sort(flows.start_ns)))) + 1

    def again() -> Iterator[Tick]:
        for lap in range(int(np.ceil(seconds * SECOND / length))):
            yield from ticks(flows, Transits.empty(), shift_ns=lap * (length + gap))

    yield f"{'recorded s':>12}{'cpu':>8}{'shelf rows':>12}{'resident MiB':>14}{'claims':>8}"
    watch = Watch(placed)
    began, since, part = time.process_time(), source.start_ns, seconds * SECOND / rows
    for board in play(watch, again()):
        if board.at_ns - since >= part:
            now = time.process_time()
            told = sum(loud(case.finding) for case in board.cases)
            yield (
                f"{(board.at_ns - source.start_ns) / SECOND:12.0f}{(now - began) * SECOND / (board.at_ns - since):8.3f}"
                f"{len(watch.shelf):12}{_resident_mib():14.0f}{told:8}"
            )
            began, since = now, board.at_ns


def ingest(one: Input, *, seconds: float = 4.0, records: int = 2000) -> Iterator[str]:
    """How fast batches of `records` are taken, and how long one may wait, while windows of an input are analysed all the time.

    By nobody, in a thread of this process, and in a process of its own.
    """
    flows, _, source, placed, _ = one.open()
    batch = flows.take(np.arange(min(records, len(flows))))
    yield f"{'analysis':>12}{'records/s':>12}{'slowest ms':>12}{'windows':>9}"
    for how in ("none", "thread", "process"):
        with workers(2 if how == "process" else 1) as executor:
            watch, idle, stop = Watch(placed, executor=executor), Watch(placed), threading.Event()
            done = [0]
            watch.add(flows, source.end_ns)
            watch.look(source.end_ns)
            thread = threading.Thread(target=_look, args=(watch, source.end_ns, stop, done))
            if how != "none":
                thread.start()
            sink, taken, slowest, since = Watched(Nowhere(), idle), 0, 0.0, time.perf_counter()
            while (began := time.perf_counter()) < since + seconds:
                sink.write(batch)
                taken += len(batch)
                slowest = max(slowest, time.perf_counter() - began)
                if taken % (500 * len(batch)) == 0:
                    idle = Watch(placed)
                    sink = Watched(Nowhere(), idle)
            stop.set()
            if how != "none":
                thread.join()
        yield f"{how:>12}{taken / seconds:12.0f}{slowest * 1e3:12.1f}{done[0]:9}"


def _look(watch: Watch, now_ns: int, stop: threading.Event, done: list[int]) -> None:
    while not stop.is_set():
        watch.look(now_ns)
        done[0] += 1


def _resident_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
