"""Find regressions between simulated runs, and none between equal ones: python -m benchmarks.regressions [--pairs N].

Equal runs differ in their seed only: the speeds of ranks, jitter and spikes are drawn anew. `--slower` scales all computing.
As `prism metrics` does, runs whose fingerprints differ (as when one is seen with other steps) are not compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from prism.metrics.aggregate_metrics import JobMetrics, aggregate
from prism.metrics.regressions import compare, figures, fingerprint, same_job
from prism.recordings import simulated_runs
from prism.recordings.file_analysis import replay
from prism.topology import parse

PRESETS = ("ddp", "pipeline", "3d", "fsdp", "moe")
TIMES = ("forward_ms", "backward_ms", "optimizer_ms", "load_ms")


def run(preset: str, seed: int, slower: float, steps: int) -> tuple[JobMetrics | None, float]:
    """Metrics of one simulated run, and its true step time, s."""
    plain = simulated_runs.spec_of(preset, [f"jobs.0.steps={steps}"])
    job = plain.jobs[0]
    settings = [f"jobs.0.steps={steps}", *(f"jobs.0.{name}={getattr(job, name) * slower}" for name in TIMES)]
    with tempfile.TemporaryDirectory() as folder:
        simulated_runs.write(simulated_runs.spec_of(preset, settings), folder, seed)
        topology = parse((Path(folder) / "topology.json").read_text(), "topology.json")
        said = replay([("flows", str(next(Path(folder).glob("flows.*"))))], topology)
        truth = json.loads((Path(folder) / "truth.json").read_text())
    rows = next(iter(truth["jobs"].values()))["steps"]
    rows = rows if isinstance(rows, list) else list(rows.values())
    true = float(np.median(np.diff(np.median([[step[2] for step in own] for own in rows], axis=0)))) / 1e9
    return (aggregate(said.jobs[0]) if said.jobs else None), true


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--slower", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--presets", nargs="*", default=list(PRESETS))
    given = parser.parse_args(arguments)
    claims = found = bad = other = 0
    ratios = []
    for pair in range(given.pairs):
        preset = given.presets[pair % len(given.presets)]
        before, usual = run(preset, 2 * (given.first + pair), 1.0, given.steps)
        now, true = run(preset, 2 * (given.first + pair) + 1, given.slower, given.steps)
        if before is None or now is None:
            bad += 1
            print(f"{preset} {pair}: no job")
            continue
        if not same_job(fingerprint(now), fingerprint(before)):
            other += 1
            print(f"{preset} {pair}: not the same fingerprint: {fingerprint(now)} {fingerprint(before)}")
            continue
        told = compare(figures(now), [figures(before)])
        steps = [one for one in told if one.name == "step" and one.worse]
        claims += bool([one for one in told if one.worse])
        found += bool(steps)
        ratios.append(now.step_s.median / before.step_s.median - true / usual)
        words = "; ".join(f"{one.name} × {one.ratio:.3f} (needed {one.needed:.3f})" for one in told)
        print(
            f"{preset} {pair}: true × {true / usual:.4f} seen × {now.step_s.median / before.step_s.median:.4f} {words}",
            flush=True,
        )
    spread = float(np.max(np.abs(ratios))) if ratios else 0.0
    print(f"{given.pairs} pairs: {claims} with a claim, {found} of the step time; {bad} without a job, {other} not compared")
    print(f"the ratio of step times is off by {spread:.4f} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
