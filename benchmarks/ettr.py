"""Compare the effective training time ratio from traffic with the truth: python -m benchmarks.ettr FOLDER … [--simulated N].

The truth is computed from the ranks' own records of steps, hangs and restarts, not from traffic.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.metrics.ettr import ettr
from prism.recordings import simulated_runs
from prism.recordings.file_analysis import replay
from prism.topology import parse

BOUND = 0.01
SETTLED_NS = 1e8  # maximum delay of a capture's start after the launch for which it was made


class Truth(NamedTuple):
    """Records of a job's ranks: start, end, and lost time ranges; ns."""

    start: float
    end: float
    lost: tuple[tuple[float, float], ...]

    @property
    def ratio(self) -> float:
        """Compute the ratio over the whole time."""
        return 1 - sum(high - low for low, high in self.lost) / (self.end - self.start)

    def sliding(self, ends: NDArray[np.int64], window: int) -> NDArray[np.float64]:
        """Compute the ratio in windows that end at given times."""
        low = np.maximum(ends - float(window), self.start)
        gone = sum(np.clip(np.minimum(ends, b) - np.maximum(low, a), 0, None) for a, b in self.lost)
        return np.asarray(1 - gone / np.maximum(ends - low, 1))


def truth_of(truth: Mapping[str, Any], name: str, first_ns: int, *, seen: bool = False) -> Truth:
    """Compute the losses of a job and its restart from the records of its ranks; `first_ns` is its first traffic.

    The job starts with its launch if that is visible, else with its first step. With `seen` it starts with its first traffic,
    because earlier activity of its processes is not visible.
    """
    jobs = truth["jobs"]
    parts = [jobs[name], *(jobs[other] for other in jobs if other == f"{name}-restart")]
    begun = _start(parts[0])
    launch = max(float(parts[0].get("start_ns", begun)), first_ns if seen else 0.0)
    captured = launch >= truth.get("capture", {}).get("start_ns", launch) - SETTLED_NS
    ends, start = [], launch if captured and first_ns < begun else begun
    for one in parts:
        rows = _rows(one)
        most = max((len(own) for own in rows), default=0)
        ends.append(np.median([[step[2] for step in own] for own in rows if len(own) == most], axis=0))
    flat = np.concatenate(ends)
    usual = float(np.median(np.diff(ends[0])))
    lost = [(start, max(float(ends[0][0]) - usual, start))]
    for before, after in pairwise(ends):
        lost.append((float(before[-1]), max(float(after[0]) - usual, float(before[-1]))))
    for fault in truth["faults"]:
        if fault["kind"] == "hang" and fault.get("job", name) == name and "end_ns" in fault:
            place = int(np.searchsorted(flat, fault["start_ns"]))
            if 0 < place < len(flat):
                hung = float(fault["end_ns"]) - float(fault["start_ns"])  # the step may contain an evaluation, too
                over = min(max(float(flat[place] - flat[place - 1]) - usual, 0.0), hung)
                high = min(float(fault["end_ns"]), float(flat[place]))  # other activity in that time is no loss and comes first
                lost.append((high - over, high))
    return Truth(start, float(flat[-1]), tuple(lost))


def _start(job: Mapping[str, Any]) -> float:
    """Return the start of its first step; earlier activity is only partly visible."""
    return float(min(own[0][1] for own in _rows(job) if own))


def _rows(job: Mapping[str, Any]) -> list[Any]:
    steps = job["steps"]
    return list(steps.values()) if isinstance(steps, dict) else list(steps)


def compare(folder: Path, *, seen: bool = False) -> Iterator[tuple[str, float, float, float]]:
    """Yield for each recognised job: name, ratio from traffic, true ratio, maximum error of the ratio in windows."""
    truth = json.loads((folder / "truth.json").read_text())
    place = folder / "topology.json"
    topology = parse(place.read_text(), str(place)) if place.exists() else None
    names = sorted(folder.glob("*.pcap.gz")) or sorted(folder.glob("flows.*"))
    merged = [one for one in names if not one.name.startswith("merged")]
    said = replay([(one.name.split(".")[0], str(one)) for one in merged or names], topology)
    for job in said.jobs:
        named_by = {rank["ip"]: name for name, one in truth["jobs"].items() if "-restart" not in name for rank in one["ranks"]}
        named = {named_by[address] for address in job.job.endpoints if address in named_by}
        if len(named) == 1:
            [name] = named
            right = truth_of(truth, name, job.job.start_ns, seen=seen)
            own = ettr(job, said.findings, until_ns=said.source.end_ns)
            whole = (own.at_ns - own.window_ns >= right.start) & (own.at_ns <= right.end)
            off = np.abs(own.sliding - right.sliding(own.at_ns, own.window_ns))[whole]
            yield f"{folder.name}/{name}", own.ratio, right.ratio, float(off.max(initial=0.0))


def simulated(count: int, folder: Path) -> Iterator[Path]:
    """Simulate runs with hangs, crashes, evaluation and checkpoints at random times."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        kind = ("hang", "crash", "ddp", "hang")[seed % 4]
        spec = simulated_runs.spec_of(kind, _settings(kind, rng))
        out = folder / f"{kind}{seed}"
        simulated_runs.write(spec, str(out), seed)
        yield out


def _settings(kind: str, rng: np.random.Generator) -> list[str]:
    first = int(rng.integers(5, 20))
    out = [f"jobs.0.evaluate_every={rng.integers(6, 12)}", f"jobs.0.evaluate_s={rng.uniform(0.5, 2):.2f}"]
    if kind == "hang":
        out += [f"faults.0.first={first}", f"faults.0.seconds={rng.uniform(2, 12):.2f}"]
    if kind == "crash":
        out += [f"faults.0.first={first}", f"faults.0.restart_s={rng.uniform(2, 9):.2f}"]
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--simulated", type=int, default=0, metavar="N")
    parser.add_argument("--seen", action="store_true", help="count from a job's first traffic, not from its launch")
    given = parser.parse_args(arguments)
    errors: list[float] = []
    sliding: list[float] = []
    with tempfile.TemporaryDirectory() as made:
        for folder in [*map(Path, given.folders), *simulated(given.simulated, Path(made))]:
            for name, ratio, right, window in compare(folder, seen=given.seen):
                errors.append(abs(ratio - right))
                sliding.append(window)
                told = f"traffic {ratio:.4f} truth {right:.4f} error {ratio - right:+.4f}, in windows at most {window:.4f}"
                print(f"{name:30} {told}", flush=True)
    if errors:
        worst = f"largest {max(errors):.4f}, median {np.median(errors):.4f}"
        print(f"{len(errors)} jobs: {worst}; {sum(one <= BOUND for one in errors)} within {BOUND:.0%}")
        worst = f"largest {max(sliding):.4f}, median {np.median(sliding):.4f}"
        print(f"in windows: {worst}; {sum(one <= BOUND for one in sliding)} within {BOUND:.0%}")
    return int(not errors or max(errors) > BOUND)


if __name__ == "__main__":
    sys.exit(main())
