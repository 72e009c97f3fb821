"""Score the steps that Prism finds in windows which cut recordings at random times, as a live service sees them.

    python -m benchmarks.windows DIR... [--seed SEED] [--each COUNT]

DIR as in benchmarks.accuracy. Each window holds 6 to 20 steps and begins and ends anywhere inside a step. Records that cross
its edges are clipped, their octets in proportion. Only steps that lie wholly inside a window count.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import accuracy
from benchmarks.cut import Json, cut_truth, true_steps
from benchmarks.score import Counts, compare
from collectors.columns.record import Flows
from prism.analysis import diagnose
from prism.report import json_report

LENGTHS = (6, 9, 14, 20)  # steps


def clipped(flows: Flows, lo: int, hi: int) -> Flows:
    """Return the records from lo to hi, ns; those that cross an edge keep their share of octets, packets and busy time."""
    flows = flows.take((flows.start_ns < hi) & (flows.end_ns > lo))
    start, end = np.maximum(flows.start_ns, lo), np.minimum(flows.end_ns, hi)
    share = np.where(flows.end_ns > flows.start_ns, (end - start) / np.maximum(flows.end_ns - flows.start_ns, 1), 1.0)
    octets, packets, busy = (
        np.ceil(share * column).astype(np.int64) for column in (flows.octets, flows.packets, flows.busy_ns)
    )
    out = replace(flows, start_ns=start, end_ns=end, octets=octets, packets=packets, busy_ns=busy)
    return out.take(np.argsort(start, kind="stable"))


def windows(truth: Json, name: str, seed: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield `each` windows, ns, per job of more than 9 steps; the same for a name and a seed."""
    rng = random.Random(f"{seed}{name}")
    for job in truth["jobs"].values():
        steps = sorted((begin, end) for _, begin, end in max(true_steps(job).values(), key=len, default=[]))
        for _ in range(each if len(steps) > LENGTHS[1] else 0):
            length = rng.choice([n for n in LENGTHS if n < len(steps) - 2])
            first = rng.randrange(len(steps) - length)
            lo, hi = (begin + rng.random() * (end - begin) for begin, end in (steps[first], steps[first + length]))
            yield int(lo), int(hi)


def main() -> int:
    """Print recall and precision of the steps by folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--each", type=int, default=2)
    asked = parser.parse_args()
    for folder in asked.folders:
        total = Counts()
        for capture in accuracy.captures([folder.resolve()]):
            flows, transits, source, placed, truth = accuracy.of_folder(capture, capture.name).open()
            for lo, hi in windows(dict(truth), capture.name, asked.seed, asked.each):
                found = diagnose(clipped(flows, lo, hi), source, topology=placed, transits=transits)
                jobs = cut_truth({"cpu": {"rows": []}, **truth, "faults": []}, lo, hi)
                total += compare(json_report.to_json(found), jobs)
        figures = total.figures()
        print(
            f"{folder}: {total.steps} steps of ranks, recall {figures['steps_recall']}, precision {figures['steps_precision']}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
