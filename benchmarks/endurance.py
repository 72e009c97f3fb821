"""Measure a live analysis over a long time; output of `python -m benchmarks.live --hour`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import grid
from benchmarks.accuracy import Input, of_case
from collectors.columns.record import Transits
from prism.findings.same_finding import is_claim
from prism.live.live_analysis import Watch
from prism.recordings.timed_playback import Tick, play, ticks
from prism.synth.scenario.specification import Cluster, Job, Spec
from prism.tracking.record_windows import SECOND


def small() -> Input:
    """Make a small healthy cluster with steps of two seconds, so that an hour can be played in minutes."""
    job = Job(
        pp=2, dp=4, micro=4, steps=48, forward_ms=120, backward_ms=240, gradient_octets=40_000_000, activation_octets=4_000_000
    )
    return of_case(grid.Case("small", "pp2dp4", "small", "none", "none", "none", Spec("small", Cluster(hosts=8), (job,)), 1))


def hour(one: Input, *, seconds: float = 3600.0, rows: int = 6) -> Iterator[str]:
    """Play an input repeatedly; yield analysis time per recorded second and memory, in equal parts of the time."""
    flows, _, source, placed, _ = one.open()
    length = source.end_ns - source.start_ns
    gap = int(np.median(np.diff(np.sort(flows.start_ns)))) + 1

    def again() -> Iterator[Tick]:
        for lap in range(int(np.ceil((seconds + 10) * SECOND / length))):  # windows do not end with laps
            yield from ticks(flows, Transits.empty(), shift_ns=lap * (length + gap))

    yield f"{'recorded s':>12}{'cpu':>8}{'recent rows':>12}{'resident MiB':>14}{'claims':>8}"
    watch = Watch(placed)
    began, since, part, left = time.process_time(), source.start_ns, seconds * SECOND / rows, rows
    for board in play(watch, again()):
        if board.at_ns - since >= part:
            now = time.process_time()
            told = sum(is_claim(case.finding) for case in board.cases)
            yield (
                f"{(board.at_ns - source.start_ns) / SECOND:12.0f}{(now - began) * SECOND / (board.at_ns - since):8.3f}"
                f"{len(watch.recent):12}{_resident_mib():14.0f}{told:8}"
            )
            began, since, left = now, board.at_ns, left - 1
            if not left:
                return


def _resident_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
