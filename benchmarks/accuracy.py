"""Replay captures and a grid of simulated clusters, score each report against its truth, print tables.

    python -m benchmarks.accuracy [DIR...] [--grid SEED:COUNT]... [--scale NAME]... [--degraded SHARE] [--baseline]
        [--degrade WAY] [--healthy] [--floor NAME=NUMBER]... [--keep DIR] [--explain]

A capture is a folder with a truth.json beside *.pcap(.gz) files or one flow dump; its topology.json is used if there is one.
A grid's cases are drawn by benchmarks.grid; faults that stretched no step are hidden: left out unless they were found. Cases as
an imperfect collection gives them are pooled apart; `--degrade` degrades captures (benchmarks.degraded). With `--healthy`,
nothing is wrong in them. `--baseline` scores the paper's method on the same flows.

Below the table of runs: one by origin (benchmarks.origins), one of how often a confidence was right (benchmarks.reliability),
risk–coverage curves of the layouts, and one of all faults by how much they cost, hidden ones too (benchmarks.fault_strength).

Exits 1 when a pooled figure misses its floor or a capture could not be read. A time includes everything from opening the files
to the diagnosis; peak is the largest resident memory of the process meanwhile.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import degraded, fault_strength, grid, llmprism_baseline, origins, reliability
from benchmarks.live_cases import well
from benchmarks.score import Counts, compare, loud, true_findings
from collectors.columns.record import Flows, Transits
from collectors.memory.allocator import keep_freed, reduce_collections
from prism import topology
from prism.analysis import diagnose
from prism.model import Diagnosis, Source
from prism.recordings.file_analysis import read
from prism.report import json_report
from prism.topology import Topology

FLOORS: dict[str, float] = {
    "jobs_exact": 1.0,
    "jobs_extra": 0,
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
    "layout_set": "in set",
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


class Input(NamedTuple):
    """One input: flows with their truth. `tags`: the pools it belongs to."""

    name: str
    tags: Mapping[str, str]
    open: Callable[[], tuple[Flows, Transits, Source, Topology | None, Mapping[str, Any]]]


class Run(NamedTuple):
    """One analysed and scored input; `error`: why it failed. `plain`: result of the paper's method."""

    name: str
    counts: Counts
    diagnosis: Diagnosis | None
    seconds: float
    peak_mib: float
    error: str = ""
    tags: Mapping[str, str] = {}
    plain: Counts | None = None
    said: Sequence[reliability.Said] = ()
    faults: Sequence[fault_strength.Strength] = ()


def captures(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield every folder at or below the given ones with a truth.json."""
    for folder in folders:
        yield from sorted(path.parent for path in folder.rglob("truth.json"))


def inputs(folder: Path) -> list[tuple[str, str]]:
    """List switch name and path of every capture in a folder, or its flow dump."""
    found = sorted(path for path in folder.iterdir() if path.name.endswith((".pcap", ".pcap.gz", ".pcapng", ".pcapng.gz")))
    found = found or [folder / name for name in DUMPS if (folder / name).exists()][:1]
    return [(path.name.split(".")[0], str(path)) for path in found]


def of_folder(folder: Path, name: str, degradation: str = "none") -> Input:
    """Make an input from a capture, as it is or degraded."""

    def opened() -> tuple[Flows, Transits, Source, Topology | None, Mapping[str, Any]]:
        truth = json.loads((folder / "truth.json").read_text())
        document = folder / "topology.json"
        placed = topology.parse(document.read_text(), str(document)) if document.exists() else None
        flows, transits, source = read(inputs(folder), placed, lambda *_: None)
        if degradation != "none":
            flows, transits, placed = degraded.degrade(flows, transits, placed, degradation)
        return flows, transits, source, placed, truth

    return Input(name, {"from": folder.parent.name, "origin": origins.of_folder(folder), "degradation": degradation}, opened)


def of_case(case: grid.Case) -> Input:
    """Make an input from a simulated cluster."""

    def opened() -> tuple[Flows, Transits, Source, Topology | None, Mapping[str, Any]]:
        drawn = grid.drawn(case)
        flows = drawn.flows
        source = Source((case.name,), 0, len(flows), {}, int(flows.start_ns.min()), int(flows.end_ns.max()))
        return flows, drawn.transits, source, topology.parse(json.dumps(drawn.topology), "topology"), drawn.truth

    names = ("layout", "scale", "fault", "nuisance", "degradation")
    return Input(case.name, {"from": "grid", "origin": "grid", **{name: getattr(case, name) for name in names}}, opened)


def run(one: Input, *, keep: Path | None = None, explain: bool = False, baseline: bool = False) -> Run:
    """Analyse and score one input."""
    forget_peak()
    began = time.perf_counter()
    truth: Mapping[str, Any] = {"hosts": {}, "jobs": {}, "faults": []}
    try:
        flows, transits, source, placed, truth = one.open()
        if one.tags["from"] == "grid":  # simulation time does not count
            began = time.perf_counter()
        diagnosis = diagnose(flows, source, topology=placed, transits=transits)
    except Exception as error:  # one failure must not hide the others
        lost = compare({"jobs": [], "findings": []}, truth)
        return Run(one.name, lost, None, time.perf_counter() - began, peak_mib(), f"{type(error).__name__}: {error}", one.tags)
    seconds, peak = time.perf_counter() - began, peak_mib()
    found = json_report.to_json(diagnosis)
    faults, truth = fault_strength.strengths(found, truth), _visible(truth, found)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{one.name.replace('/', '_')}.json").write_text(json_report.dumps(diagnosis))
    if explain:
        _explain(one.name, found, truth)
    plain = None
    if baseline:
        plain = compare(json_report.to_json(llmprism_baseline.diagnose(flows, source, topology=placed)), truth)
    said = reliability.statements(found, truth)
    return Run(one.name, compare(found, truth), diagnosis, seconds, peak, "", one.tags, plain, said, faults)


def _visible(truth: Mapping[str, Any], found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Remove hidden faults that were not found from the truth."""
    told = {id(fault): bool(findings) for fault, findings in true_findings(found, truth)}
    return {**truth, "faults": [f for f in truth["faults"] if not f.get("hidden") or told.get(id(f))]}


def misses(figures: Mapping[str, float | None], floors: Mapping[str, float]) -> list[str]:
    """Describe each figure that misses its floor (or ceiling); undefined figures are left out."""
    lines = []
    for name, floor in floors.items():
        value = figures[name]
        if value is not None and (value > floor if name in CEILINGS else value < floor):
            lines.append(f"{name} is {value:.4g}, {'at most' if name in CEILINGS else 'at least'} {floor:g} is asked for")
    return lines


def table(runs: Sequence[Run]) -> str:
    """Format one row per input, then pooled ones: all, each pool of more than one, the paper's method."""
    pools = _pools(runs)
    width = max(len(name) for name in (*(r.name for r in runs), *pools)) + 2
    heading = "".join(f"{title:>7}" for title in COLUMNS.values())
    lines = [f"{'run':{width}}{heading}{'s':>8}{'rows/s':>9}{'peak MiB':>10}"]
    lines += [f"{r.name:{width}}{_cells(r.counts)}{_cost(r)}{'  ' + r.error if r.error else ''}" for r in runs]
    for name, own in pools.items():
        lines.append(f"{name:{width}}{_cells(sum((r.counts for r in own), Counts()))}{sum(r.seconds for r in own):8.1f}")
    return "\n".join(lines)


def compared(runs: Sequence[Run]) -> str:
    """Format every pooled figure of Prism and of the paper's method on the same inputs."""
    both = [r for r in runs if r.plain is not None]
    ours = sum((r.counts for r in both), Counts()).figures()
    plain = sum((r.plain for r in both if r.plain), Counts()).figures()
    lines = [f"{f'pooled ({len(both)})':22}{'Prism':>10}{'LLMPrism':>10}"]
    return "\n".join([*lines, *(f"{name:22}{_number(ours[name]):>10}{_number(plain[name]):>10}" for name in ours)])


def _pools(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Group runs by drawn properties; complete collections apart from degraded ones."""
    pools = {f"pooled ({len(runs)})": list(runs)}
    for tag in ("from", "layout", "scale", "fault", "nuisance"):
        for value in dict.fromkeys(r.tags[tag] for r in runs if tag in r.tags and r.tags["degradation"] == "none"):
            own = [r for r in runs if r.tags.get(tag) == value and r.tags["degradation"] == "none"]
            if 1 < len(own) < len(runs):
                pools[f"{tag} {value} ({len(own)})"] = own
    for value in dict.fromkeys(r.tags.get("degradation", "none") for r in runs):
        own = [r for r in runs if r.tags.get("degradation", "none") == value]
        if len(own) < len(runs):
            pools[f"{'not degraded' if value == 'none' else f'degraded: {value}'} ({len(own)})"] = own
    return pools


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a floor is missed or a capture fails, 2 without input."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    parser.add_argument("--grid", action="append", default=[], type=seed_and_count, metavar="SEED:COUNT")
    parser.add_argument("--scale", action="append", choices=list(grid.SCALES), help="sizes of the grid's clusters")
    parser.add_argument("--degraded", type=float, default=0.0, metavar="SHARE", help="of the grid's cases")
    parser.add_argument("--degrade", choices=list(degraded.WAYS), default="none", help="degrade the captures")
    parser.add_argument("--healthy", action="store_true", help="cases of the grid without their faults")
    parser.add_argument("--baseline", action="store_true", help="score the paper's method beside")
    parser.add_argument(
        "--floor", action="append", default=[], type=_floor, metavar="NAME=NUMBER", help="in place of a default"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write every report there")
    parser.add_argument("--explain", action="store_true", help="list the findings of every run, right or wrong")
    asked = parser.parse_args(argv)
    reduce_collections()
    keep_freed()  # as in `prism replay`
    folders = [path.resolve() for path in asked.folders]
    found = [folder for folder in captures(folders) if inputs(folder)]
    todo = [of_folder(folder, f"{folder.parent.name}/{folder.name}", asked.degrade) for folder in found]
    for seed, count in asked.grid:
        drawn = grid.cases(seed, count, scales=tuple(asked.scale or ("small", "medium")), degraded=asked.degraded)
        todo += [of_case(well(case) if asked.healthy else case) for case in drawn]
    if not todo:
        print("no capture with a truth.json there", file=sys.stderr)
        return 2
    runs = []
    for one in todo:
        if sys.stderr.isatty():
            print(f"\r{one.name}\033[K", end="", file=sys.stderr)
        runs.append(run(one, keep=asked.keep, explain=asked.explain, baseline=asked.baseline))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(table(runs))
    whole = [r for r in runs if r.tags["degradation"] == "none"]
    by_origin = origins.pooled((r.tags["origin"], r.counts, r.said) for r in whole or runs)
    print(f"\n{origins.table(by_origin)}")
    print(f"\n{reliability.table([said for r in runs for said in r.said])}")
    print(f"\n{origins.curves(by_origin)}")
    print(f"\n{fault_strength.table([fault for r in runs for fault in r.faults])}")
    if asked.baseline:
        print(f"\n{compared(runs)}")
    missed = misses(sum((r.counts for r in whole), Counts()).figures(), FLOORS | dict(asked.floor))
    failed = [f"{r.name} could not be replayed" for r in runs if r.error]
    for line in failed + missed:
        print("missed:", line)
    return 1 if failed or missed else 0


def seed_and_count(text: str) -> tuple[int, int]:
    """Parse SEED:COUNT."""
    seed, _, count = text.partition(":")
    return int(seed), int(count)


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


def forget_peak() -> None:
    """Reset the measured peak of memory, if the kernel allows it (Linux, /proc/self/clear_refs)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_mib() -> float:
    """Return the peak resident memory since the last reset, else since the start of the process."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
