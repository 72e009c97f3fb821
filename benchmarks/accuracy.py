"""Replay every capture under the given folders, score each report against its truth, print a table.

    python -m benchmarks.accuracy DIR... [--floor NAME=NUMBER]... [--keep DIR] [--explain]

A capture is a folder with a truth.json beside *.pcap(.gz) files or one flow dump; its topology.json is used where there is one.
Exits 1 when a pooled figure misses its floor or a capture could not be read. A time includes everything from opening the files
to the diagnosis; peak is the largest resident memory of the process meanwhile.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.score import Counts, compare, loud, true_findings
from prism import report, topology
from prism.model import Diagnosis

FLOORS: dict[str, float] = {
    "jobs_exact": 1.0,
    "layout_exact": 0.8,
    "groups_f1": 0.9,
    "steps_recall": 0.95,
    "steps_precision": 0.95,
    "step_error_median": 0.003,
    "faults_recall": 0.8,
    "findings_precision": 0.8,
    "healthy_findings": 0,
}
CEILINGS = {"jobs_extra", "step_error_median", "step_error_mean", "step_error_p95", "onset_steps", "healthy_findings"}
COLUMNS = {  # figure → heading
    "jobs_exact": "jobs",
    "jobs_extra": "extra",
    "layout_exact": "layout",
    "groups_f1": "groups",
    "pairs_precision": "pairs",
    "steps_recall": "steps",
    "steps_precision": "prec",
    "step_error_median": "error",
    "step_error_p95": "p95",
    "faults": "faults",
    "faults_found": "found",
    "faults_kind": "kind",
    "onset_steps": "onset",
    "findings": "loud",
    "findings_precision": "prec",
}
DUMPS = ("flows.csv.gz", "flows.csv", "flows.jsonl.gz", "flows.jsonl", "flows.parquet")


class Run(NamedTuple):
    """One capture replayed and scored; `error` says why it could not be."""

    name: str
    counts: Counts
    diagnosis: Diagnosis | None
    seconds: float
    peak_mib: float
    error: str = ""


def captures(folders: Sequence[Path]) -> Iterator[Path]:
    """Every folder at or below the given ones that holds a truth.json."""
    for folder in folders:
        yield from sorted(path.parent for path in folder.rglob("truth.json"))


def inputs(folder: Path) -> list[tuple[str, str]]:
    """Switch name and path of every capture in a folder, or its flow dump."""
    found = sorted(path for path in folder.iterdir() if path.name.endswith((".pcap", ".pcap.gz", ".pcapng", ".pcapng.gz")))
    found = found or [folder / name for name in DUMPS if (folder / name).exists()][:1]
    return [(path.name.split(".")[0], str(path)) for path in found]


def run(folder: Path, name: str, *, keep: Path | None, explain: bool) -> Run:
    """Replay and score one capture."""
    from prism.replay import replay

    truth = json.loads((folder / "truth.json").read_text())
    document = folder / "topology.json"
    placed = topology.parse(document.read_text(), str(document)) if document.exists() else None
    _forget_peak()
    began = time.perf_counter()
    try:
        diagnosis = replay(inputs(folder), placed, lambda *_: None)
    except Exception as error:  # a capture that fails must not hide the others
        lost = compare({"jobs": [], "findings": []}, truth)
        return Run(name, lost, None, time.perf_counter() - began, _peak_mib(), f"{type(error).__name__}: {error}")
    seconds, peak = time.perf_counter() - began, _peak_mib()
    found = report.to_json(diagnosis)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{name.replace('/', '_')}.json").write_text(report.dumps(diagnosis))
    if explain:
        _explain(name, found, truth)
    return Run(name, compare(found, truth), diagnosis, seconds, peak)


def misses(figures: Mapping[str, float | None], floors: Mapping[str, float]) -> list[str]:
    """One line for each figure that misses its floor (or ceiling); what could not be counted is left out."""
    lines = []
    for name, floor in floors.items():
        value = figures[name]
        if value is not None and (value > floor if name in CEILINGS else value < floor):
            lines.append(f"{name} is {value:.4g}, {'at most' if name in CEILINGS else 'at least'} {floor:g} is asked for")
    return lines


def table(runs: Sequence[Run]) -> str:
    """One row per capture and a pooled one."""
    width = max(len(r.name) for r in runs) + 2
    heading = "".join(f"{title:>7}" for title in COLUMNS.values())
    lines = [f"{'capture':{width}}{heading}{'s':>8}{'rows/s':>9}{'peak MiB':>10}"]
    lines += [f"{r.name:{width}}{_cells(r.counts)}{_cost(r)}{'  ' + r.error if r.error else ''}" for r in runs]
    pooled = sum((r.counts for r in runs), Counts())
    return "\n".join([*lines, f"{f'pooled ({len(runs)})':{width}}{_cells(pooled)}{sum(r.seconds for r in runs):8.1f}"])


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a floor is missed or a capture fails, 2 where there is nothing to replay."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument(
        "--floor", action="append", default=[], type=_floor, metavar="NAME=NUMBER", help="in place of a default"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write every report there")
    parser.add_argument("--explain", action="store_true", help="list the findings of every capture, right or wrong")
    asked = parser.parse_args(argv)
    folders = [path.resolve() for path in asked.folders]
    found = [folder for folder in captures(folders) if inputs(folder)]
    if not found:
        print("no capture with a truth.json there", file=sys.stderr)
        return 2
    runs = []
    for folder in found:
        name = f"{folder.parent.name}/{folder.name}"
        if sys.stderr.isatty():
            print(f"\r{name}\033[K", end="", file=sys.stderr)
        runs.append(run(folder, name, keep=asked.keep, explain=asked.explain))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(table(runs))
    missed = misses(sum((r.counts for r in runs), Counts()).figures(), FLOORS | dict(asked.floor))
    failed = [f"{r.name} could not be replayed" for r in runs if r.error]
    for line in failed + missed:
        print("missed:", line)
    return 1 if failed or missed else 0


def _floor(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    if name not in Counts().figures():
        raise argparse.ArgumentTypeError(f"no figure is called {name!r}; there are {', '.join(Counts().figures())}")
    return name, float(number)


def _cells(counts: Counts) -> str:
    return "".join(f"{_number(counts.figures()[name]):>7}" for name in COLUMNS)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.4f}" if 0 < value < 0.1 else f"{value:.3f}"


def _cost(r: Run) -> str:
    source = r.diagnosis.source if r.diagnosis else None
    rows = (source.packets or source.flows) / r.seconds if source else 0
    return f"{r.seconds:8.2f}{rows:9.0f}{r.peak_mib:10.0f}"


def _explain(name: str, found: Mapping[str, Any], truth: Mapping[str, Any]) -> None:
    named = list(true_findings(found, truth))
    right = {id(f) for _, findings in named for f in findings}
    print(f"{name}: " + "; ".join(f"{k}={v}" for k, v in compare(found, truth).figures().items() if isinstance(v, float)))
    for fault, findings in named:
        culprit = fault.get("switch", fault.get("ranks"))
        print(
            f"  fault   {'found ' if findings else 'MISSED'} {fault['kind']} {culprit} {fault['start_ns']} … {fault['end_ns']}"
        )
    for f in found["findings"]:
        mark = "right" if id(f) in right else "WRONG" if f in loud(found) else "info"
        print(f"  finding {mark:6} {f['kind']} {f['subject']['ids']} {f['start_ns']} … {f['end_ns']}: {f['message']}")


def _forget_peak() -> None:
    """Start measuring the peak anew, where the kernel lets us (Linux, /proc/self/clear_refs)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_mib() -> float:
    """Peak resident memory since it was last forgotten, else since the process began."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
