"""Replay captures and simulated clusters as live data, and measure the delay until faults are reported.

    python -m benchmarks.live [DIR...] [--grid SEED:COUNT]... [--scale NAME]... [--layout NAME]... [--fault KIND]
                              [--step LEAST:MOST] [--healthy] [--restart SECONDS] [--explain]
    python -m benchmarks.live --hour [DIR]

Everything runs as fast as it can, by the clock of the recording: a window that takes a second of processor time is told a
second later, and the next one waits for it. `delay` is from a fault's start until a case that names its culprit is told, in
steps of the job and in seconds; `late` of them took longer than two steps and longer than 5 s. `after` is from when the
fault's second step was over as it then went (slow steps are longer), `later` of them took 1 s more than that, and more than
5 s. `early` are faults whose case closed before they were over. `wrong` claims name nobody at
fault, `healthy` ones are told of runs without fault, `flaps` are cases that opened again. `cpu` is the share of the recorded
time that the analysis took on one core, `window` what the slowest window took. Faults that stretched no step are left out
unless they were found. Cases of the grid are made longer (`live_cases`), their steps `--step` seconds at least and
at most; with `--healthy`, nothing is wrong in them, with `--fault` that. With `--restart`, the service is killed in the middle
of the fault, else of the run, and away for so many seconds, whose records are lost. `hours` are those recorded.

`--hour` plays a folder's flows, or those of a small simulated cluster, again and again, each time later, for an hour of
recorded time, and prints for every ten minutes how time and memory go with it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import grid
from benchmarks.accuracy import DUMPS, Input, captures, inputs, of_case, of_folder, peak_mib
from benchmarks.endurance import hour, small
from benchmarks.live_cases import ill, longer, well
from benchmarks.live_restart import again, gone_ns, without
from benchmarks.score import names_culprit, period_of
from collectors.columns.record import Flows, Transits
from prism.findings.same_finding import is_claim
from prism.live.live_analysis import Watch
from prism.recordings.timed_playback import play, ticks
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.tracking.board import Board, Case
from prism.tracking.record_windows import SECOND

SMALL = Path()  # stands for a simulated cluster
HEADS = ("faults", "found", "late", "steps", "s", "after", "later", "early", "claims", "wrong", "healthy", "flaps")
COSTS = ("hours", "cpu", "window", "MiB")
ALWAYS = 6  # steps: a rank that is slow from the start has no detectable start


@dataclass
class Told:
    """Results of one run."""

    name: str
    healthy: bool
    delays: list[tuple[float, float]] = field(default_factory=list)  # steps, seconds
    faults: int = 0
    found: int = 0
    late: int = 0
    later: int = 0
    early: int = 0
    after: list[float] = field(default_factory=list)
    claims: int = 0
    wrong: int = 0
    flaps: int = 0
    cpu: float = 0.0
    window_s: float = 0.0
    peak_mib: float = 0.0
    recorded_s: float = 0.0
    lines: list[str] = field(default_factory=list)


class Timed(Watch):
    """A watch whose windows also take recorded time, as much as their processor time: the next one waits for them.

    `free_ns`: end of the newest window's analysis; `spent_s`: sum of all; `slowest_s`: the slowest.
    """

    free_ns = 0
    spent_s = slowest_s = 0.0
    _clock = 0

    def due(self, clock_ns: int) -> bool:
        """See `Watch`."""
        self._clock = clock_ns
        return clock_ns >= self.free_ns and super().due(clock_ns)

    def analyse_window(self, now_ns: int, *, last: bool = False, again: bool = False) -> Board:
        """See `Watch`."""
        began = time.process_time()
        board = super().analyse_window(now_ns, last=last, again=again)
        took = time.process_time() - began
        self.spent_s, self.slowest_s = self.spent_s + took, max(self.slowest_s, took)
        self.free_ns = max(self._clock, now_ns) + int(took * SECOND)
        return board


def boards(watch: Timed, flows: Flows, transits: Transits, gone: int, away_s: float) -> Iterator[tuple[Timed, Board]]:
    """Yield the boards of a watch, and of its successor if it is killed at `gone`, ns, for `away_s`."""
    until = (lambda clock_ns: clock_ns < gone) if away_s else (lambda _clock_ns: True)
    played = without(ticks(flows, transits), gone, away_s)
    for board in play(watch, played, wait=until):
        yield watch, board
    if away_s:
        after = again(watch, Timed(watch.topology), flows, gone)
        for board in play(after, played):
            yield after, board


def measured(one: Input, away_s: float = 0.0) -> Told:
    """Play one input as fast as possible and judge it; with `away_s`, killed in the middle."""
    flows, transits, source, placed, truth = one.open()
    cases: dict[str, Case] = {}
    first: dict[str, int] = {}
    states: dict[str, list[str]] = {}
    watches: dict[int, Timed] = {}
    for watch, board in boards(Timed(placed), flows, transits, gone_ns(truth) if away_s else 0, away_s):
        watches[id(watch)] = watch
        for case in board.cases:
            if is_claim(case.finding):
                cases[case.id] = case
                first.setdefault(case.id, watch.free_ns)
                known = states.setdefault(case.id, [])
                if not known or known[-1] != case.state:
                    known.append(case.state)
    told = _judged(one.name, truth, list(cases.values()), first)
    told.flaps = sum(known.count("open") - 1 for known in states.values())
    told.recorded_s = (source.end_ns - source.start_ns) / SECOND
    told.cpu = sum(watch.spent_s for watch in watches.values()) / max(told.recorded_s, 1e-9)
    told.window_s, told.peak_mib = max((watch.slowest_s for watch in watches.values()), default=0.0), peak_mib()
    return told


def _judged(name: str, truth: Mapping[str, Any], cases: Sequence[Case], first: Mapping[str, int]) -> Told:
    """Score cases by the time of their first report, ns."""
    told = Told(name, healthy=not truth["faults"], claims=len(cases))
    step = period_of(truth)
    begin = min((s[0][1] for job in truth["jobs"].values() for s in job["steps"].values() if s), default=0)
    right: set[str] = set()
    for fault in truth["faults"]:
        low, high = fault.get("start_ns", 0) - 2 * step, fault.get("end_ns", 1 << 62) + 4 * step
        own = [c for c in cases if names_culprit(_json(c), fault, truth) and low <= c.finding.start_ns <= high]
        right |= {c.id for c in own}
        if fault.get("hidden") and not own:
            continue
        told.faults += 1
        told.found += bool(own)
        soonest = min((first[c.id] for c in own), default=0)
        delay = (soonest - fault["start_ns"]) / SECOND if own else 0.0
        timed = own and fault["start_ns"] >= begin + ALWAYS * step
        if timed:
            told.delays.append((delay * SECOND / step, delay))
            after = delay - (_second(fault, truth, step) - fault["start_ns"]) / SECOND
            told.after.append(after)
            told.late += delay > max(2 * step / SECOND, 5.0) + 1e-9
            told.later += delay > max(delay - after + 1.0, 5.0)
        told.early += bool(own) and all(0 < c.closed_ns < fault.get("end_ns", 0) - step for c in own)
        culprit = fault.get("switch", fault.get("ranks"))
        when = (
            f"{delay:.1f} s, {delay * SECOND / step:.1f} steps, {after:+.1f} s"
            if timed
            else f"{delay:.1f} s"
            if own
            else "MISSED"
        )
        told.lines.append(f"  fault {fault['kind']} {culprit}: {when}")
    told.wrong = len({c.id for c in cases} - right)
    zero = begin
    for c in cases:
        f = c.finding
        told.lines.append(
            f"  {'right' if c.id in right else 'WRONG'} {f.kind} {f.detector} {list(f.ids)} {f.confidence} of "
            f"{(f.start_ns - zero) / SECOND:.1f} … {(f.end_ns - zero) / SECOND:.1f} told {(first[c.id] - zero) / SECOND:.1f}"
            f"{f' closed {(c.closed_ns - zero) / SECOND:.1f}' if c.closed_ns else ''}"
        )
    return told


def _second(fault: Mapping[str, Any], truth: Mapping[str, Any], step: float) -> float:
    """Return the end of the second step after a fault's start at its actual speed, or at the usual speed without later steps.

    A step that ends right after the start counts as the previous one: ranks end a step at different times.
    """
    rows = truth["jobs"].get(fault.get("job", ""), {}).get("steps", {})
    ends = sorted(row[2] for row in next(iter(rows.values()), ()) if row[2] > fault["start_ns"] + step / 2)
    stands = fault["kind"] in ("hang", "crash") or len(ends) < 2
    return float(fault["start_ns"] + 2 * step if stands else ends[1])


def _json(case: Case) -> dict[str, Any]:
    return {"subject": {"type": case.finding.subject, "ids": list(case.finding.ids)}}


def table(runs: Sequence[Told]) -> str:
    """Format one row per run, and a pooled one."""
    width = max(len(run.name) for run in runs) + 2
    lines = [f"{'run':{width}}" + "".join(f"{head:>8}" for head in HEADS + COSTS)]
    lines += [_row(run.name, [run], width) for run in runs]
    return "\n".join([*lines, _row(f"pooled ({len(runs)})", runs, width)])


def _row(name: str, runs: Sequence[Told], width: int) -> str:
    delays = [delay for run in runs for delay in run.delays]
    steps, seconds = np.median(delays, axis=0) if delays else (np.nan, np.nan)
    counts = [sum(getattr(run, key) for run in runs) for key in ("faults", "found", "late")]
    after = [second for run in runs for second in run.after]
    rest = [sum(getattr(run, key) for run in runs) for key in ("later", "early", "claims", "wrong")]
    rest += [sum(r.claims for r in runs if r.healthy), sum(r.flaps for r in runs)]
    return (
        f"{name:{width}}"
        + "".join(f"{n:8}" for n in counts)
        + f"{steps:8.1f}{seconds:8.1f}{np.median(after) if after else np.nan:8.1f}"
        + "".join(f"{n:8}" for n in rest)
        + f"{sum(r.recorded_s for r in runs) / 3600:8.2f}{np.mean([r.cpu for r in runs]):8.3f}"
        + f"{max(r.window_s for r in runs):8.2f}{max(r.peak_mib for r in runs):8.0f}"
    )


def compiled() -> None:
    """Compile everything, so that no measured window waits for the compiler."""
    for fault in ((), (Fault("compute_slow", ranks=(3,), first=20, stop=30),)):
        job = Job(pp=2, dp=4, micro=4, steps=40, gradient_octets=40_000_000, activation_octets=4_000_000)
        measured(of_case(grid.Case("", "", "", "", "", "", Spec("", Cluster(hosts=8), (job,), fault), 1)))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 2 without input."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--grid", action="append", default=[], metavar="SEED:COUNT")
    parser.add_argument("--scale", action="append", choices=list(grid.SCALES))
    parser.add_argument("--layout", action="append", choices=list(grid.LAYOUTS))
    parser.add_argument("--fault", choices=sorted(set(grid.FAULTS)), help="what goes wrong in all cases of the grid")
    parser.add_argument("--step", default="0.3:10", metavar="LEAST:MOST", help="seconds that steps of the grid's cases take")
    parser.add_argument("--healthy", action="store_true", help="cases of the grid without their faults")
    parser.add_argument("--restart", type=float, default=0.0, metavar="SECONDS", help="kill it in the middle, for so long")
    parser.add_argument("--hour", type=Path, nargs="?", const=SMALL, metavar="DIR")
    parser.add_argument("--explain", action="store_true", help="list faults and claims of every run")
    asked = parser.parse_args(argv)
    if asked.hour:
        for row in hour(small() if asked.hour == SMALL else of_folder(asked.hour, asked.hour.name)):
            print(row, flush=True)
        return 0
    todo = [of_folder(f, f"{f.parent.name}/{f.name}") for f in captures([p.resolve() for p in asked.folders]) if inputs(f)]
    least, most = (float(text) for text in asked.step.split(":"))
    for seed, count in (text.split(":") for text in asked.grid):
        drawn = grid.cases(int(seed), int(count), scales=tuple(asked.scale or ("small",)))
        wanted = (case for case in drawn if case.layout in (asked.layout or grid.LAYOUTS))
        wanted = (ill(case, asked.fault) if asked.fault else case for case in wanted)
        paced = (longer(case, least_s=least, most_s=most) for case in wanted)
        todo += [of_case(well(case) if asked.healthy else case) for case in paced]
    if not todo:
        print(f"no capture with a truth.json there, nor any of {', '.join(DUMPS)}", file=sys.stderr)
        return 2
    runs = []
    compiled()
    for one in todo:
        runs.append(measured(one, asked.restart))
        if asked.explain:
            print("\n".join([one.name, *runs[-1].lines]), flush=True)
    print(table(runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
