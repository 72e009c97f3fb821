"""Measure what each imperfection of the collection costs: sampling, active timeouts, lost records, clock differences.

    python -m benchmarks.collection [--grid SEED:COUNT] [--scale NAME]

Each case of a grid of simulated clusters is collected once per setting and scored against its truth. Prints a Markdown table
with one row per setting; all rows have the same cases. Active timeouts are given in seconds, and as shares of the case's step.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from benchmarks import accuracy, grid
from benchmarks.score import Counts
from prism.synth.scenario.specification import Degradation

SETTINGS: tuple[tuple[str, Degradation], ...] = (
    ("complete records, one per message", Degradation()),
    *((f"1 of {rate:,} packets sampled", Degradation(sampling=rate)) for rate in (16, 64, 256, 1024)),
    *((f"records summed over {seconds:g} s", Degradation(aggregate_s=seconds)) for seconds in (0.01, 0.1, 0.5, 1.0, 2.0, 10.0)),
    *((f"{share:.1%} of the records lost", Degradation(loss=share)) for share in (0.001, 0.01, 0.05)),
    *((f"clocks of switches differ by up to {skew:g} ms", Degradation(skew_ms=skew)) for skew in (0.1, 1.0, 10.0)),
)
SHARES = (50, 20, 10, 4, 2, 1)  # divisors of the step time
HEADING = ("collection", "jobs found", "layout exact", "layout in set", "steps, recall", "steps, precision", "faults", "claims")


def collected(cases: Sequence[grid.Case], how: Degradation) -> Iterator[accuracy.Run]:
    """Analyse and score cases collected with one setting."""
    for case in cases:
        spec = replace(case.spec, degradation=how)
        yield accuracy.run(accuracy.of_case(replace(case, spec=spec, degradation="none")))


def step_s(case: grid.Case) -> float:
    """Compute the median duration of the true steps of a case, s."""
    truth = grid.drawn(replace(case, spec=replace(case.spec, degradation=Degradation()))).truth
    ranks = [rank for job in truth["jobs"].values() for rank in job["steps"].values()]
    spans: list[float] = [(end - begin) / 1e9 for rank in ranks for _, begin, end in rank]
    return median(spans)


def relative(cases: Sequence[grid.Case], share: int) -> Iterator[accuracy.Run]:
    """Analyse and score cases whose records are summed over a share of their step."""
    for case in cases:
        yield from collected([case], Degradation(aggregate_s=step_s(case) / share))


def row(name: str, runs: Sequence[accuracy.Run]) -> str:
    """Format one row of the table: shares of the pooled runs; named faults of the visible ones; right claims of all."""
    counts = sum((run.counts for run in runs), Counts())
    figures = counts.figures()
    shares = ("jobs_exact", "layout_exact", "layout_set", "steps_recall", "steps_precision")
    cells = ["–" if (value := figures[share]) is None else f"{value:.2f}" for share in shares]
    cells += [f"{counts.faults_found} of {counts.faults}", f"{counts.findings_right} of {counts.findings}"]
    return f"| {' | '.join([name, *cells])} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collection", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--grid", default=(7, 28), type=accuracy.seed_and_count, metavar="SEED:COUNT")
    parser.add_argument("--scale", action="append", choices=list(grid.SCALES), help="sizes of the clusters; default: small")
    asked = parser.parse_args(argv)
    cases = list(grid.cases(*asked.grid, scales=tuple(asked.scale or ("small",))))
    print(f"| {' | '.join(HEADING)} |\n|{'---|' * len(HEADING)}")
    settings = [(name, partial(collected, how=how)) for name, how in SETTINGS]
    settings += [(f"records summed over 1/{share} of a step", partial(relative, share=share)) for share in SHARES]
    for name, collect in settings:
        runs = list(collect(cases))
        print(row(name, runs), flush=True)
        for one in runs:
            if one.error:
                print(f"{one.name}: {one.error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
