"""Score the diagnosis of logs against runs with known faults (python -m benchmarks.logs FOLDER …), or time it (--speed FILE).

A run is a folder with logs/ and truth.json: `failed`, `rank`, `host`, `cause`, `stage`, `iteration`, and `lines`: the numbers
of the failure-indicating lines of each file. `addresses` maps addresses to nodes, as a topology would.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prism.logs.log_files_diagnosis import diagnose_files
from prism.logs.log_reader import read
from prism.logs.parsing.log_scanner import Kinds, scan
from prism.logs.patterns.log_diagnosis import LogDiagnosis


@dataclass(frozen=True)
class Score:
    """One run: line counts, rank of the true node among the suspects (0: not named), and correctness of the rest."""

    name: str
    failed: bool
    alarm: bool
    true: int
    found: int
    right: int
    place: int
    cause: bool
    stage: bool
    near: bool
    how: str


def score(name: str, truth: dict[str, Any], said: LogDiagnosis) -> Score:
    """Compare a diagnosis with the truth; iterations count as right within one."""
    lines = {(Path(source).name, number) for source, numbers in truth["lines"].items() for number in numbers}
    found = {(Path(event.source).name, number) for event in said.lines for number in event.numbers}
    node = {f"rank {truth['rank']}", str(truth["host"])}
    hits = [
        i for i, one in enumerate(said.suspects, 1) if one.name in node or truth["rank"] in one.ranks[:1] or one.host in node
    ]
    return Score(
        name=name,
        failed=truth["failed"],
        alarm=said.failed,
        true=len(lines),
        found=len(found),
        right=len(lines & found),
        place=hits[0] if hits else 0,
        cause=said.cause == truth["cause"],
        stage=said.stage == truth["stage"],
        near=truth["iteration"] is not None and abs(said.iteration - truth["iteration"]) <= 1,
        how=said.suspects[0].how if said.suspects else "",
    )


def summary(scores: Sequence[Score]) -> str:
    """Format pooled figures, and risk by the rule that named the node."""
    bad = [one for one in scores if one.failed]
    true, found, right = (sum(getattr(one, name) for one in bad) for name in ("true", "found", "right"))
    precision, recall = right / max(found, 1), right / max(true, 1)
    healthy = [one for one in scores if not one.failed]
    n = max(len(bad), 1)
    rows = [
        f"failed runs {len(bad)}: alarms {sum(one.alarm for one in bad)}; lines precision {precision:.3f} recall {recall:.3f} "
        f"F1 {2 * precision * recall / max(precision + recall, 1e-9):.3f}",
        f"node top-1 {sum(one.place == 1 for one in bad) / n:.1%} top-5 {sum(0 < one.place <= 5 for one in bad) / n:.1%}; "
        f"cause {sum(one.cause for one in bad) / n:.1%}; stage {sum(one.stage for one in bad) / n:.1%}; "
        f"iteration {sum(one.near for one in bad) / n:.1%}",
        f"healthy runs {len(healthy)}: alarms {sum(one.alarm for one in healthy)}",
    ]
    for how in sorted({one.how for one in bad}):
        own = [one for one in bad if one.how == how]
        rows.append(f"  node by rule {how or '-'}: {sum(one.place == 1 for one in own)} of {len(own)}")
    return "\n".join(rows)


def speed(path: str) -> float:
    """Measure megabytes of text per second of processor time."""
    began = time.process_time()
    octets = scan(path, read(path), Kinds()).octets
    return octets / 1e6 / max(time.process_time() - began, 1e-9)


def runs(folders: Iterable[str]) -> list[Path]:
    """List folders with a truth, in order."""
    return sorted(path.parent for folder in folders for path in Path(folder).glob("**/truth.json"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--speed", metavar="FILE")
    parser.add_argument("--addresses", action="store_true", help="give the addresses of nodes, as a topology would")
    given = parser.parse_args(arguments)
    if given.speed:
        print(f"{speed(given.speed):.0f} MB/s")
        return 0
    scores = []
    for path in runs(given.folders):
        truth = json.loads((path / "truth.json").read_text())
        said = diagnose_files([str(path / "logs")], addresses=truth["addresses"] if given.addresses else None)
        one = score(path.name, truth, said)
        scores.append(one)
        verdict = "ok " if one.failed == one.alarm else "BAD"
        wrong = "" if one.cause else " WRONG"
        print(f"{one.name:34} {verdict} lines {one.right}/{one.found}/{one.true} node {one.place} {one.how}", end=" ")
        print(f"cause {said.cause or '-'} ({said.why}){wrong} {said.stage} {said.iteration}")
    print(summary(scores))
    return 0


if __name__ == "__main__":
    sys.exit(main())
