"""Compare a job with earlier runs of the same fingerprint: layout and volumes. A difference must exceed chance and a floor.

Chance: four standard errors of both medians. Runs differ by more than their steps do, because GPUs and placements differ:
`MIN_DIFFERENCE` is the maximum difference of equal runs in the simulator. With three earlier runs or more, a difference must
also exceed four times their spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.metrics.aggregate_metrics import JobMetrics, spread

SIGMAS = 4.0
MIN_DIFFERENCE = 0.02  # measured: see benchmarks/regressions.py
SAME_VOLUME = 0.02
RUNS = 3
MIN_STEPS = 8  # minimum steps in a third of a run
STEP = "step"


@dataclass(frozen=True)
class Figure:
    """A figure of a run: a median with its relative standard error. `more`: more is worse."""

    name: str
    value: float
    error: float
    more: bool


@dataclass(frozen=True)
class Regression:
    """A figure that changed against earlier runs by `ratio`; `needed`: threshold of a relevant difference."""

    name: str
    now: float
    before: float
    ratio: float
    needed: float
    worse: bool


def figures(metrics: JobMetrics) -> tuple[Figure, ...]:
    """List the figures to compare: step time first, then the parts that explain it."""
    out = [Figure(STEP, metrics.step_s.median, metrics.step_s.error, True)]
    out += [Figure(f"work of stage {stage}", one.median, one.error, True) for stage, one in sorted(metrics.work.items())]
    out += [
        Figure(f"bus bandwidth {one.kind} {one.members}", one.bits_per_s.median, one.bits_per_s.error, False)
        for one in metrics.bandwidth
    ]
    return tuple(one for one in out if np.isfinite(one.value) and one.value > 0)


def fingerprint(metrics: JobMetrics) -> dict[str, Any]:
    """Build the fingerprint that makes runs comparable: ranks, layout, octets per rank and step by kind."""
    return {
        "ranks": metrics.ranks,
        "layout": dict(metrics.layout),
        "volumes": {kind: round(v) for kind, v in metrics.volumes.items()},
    }


def same_job(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Check whether two fingerprints belong to the same job; volumes may differ by less than 2 %."""
    if one["ranks"] != other["ranks"] or one["layout"] != other["layout"]:
        return False
    mine, theirs = one["volumes"], other["volumes"]
    large = {kind for kind in {*mine, *theirs} if max(mine.get(kind, 0), theirs.get(kind, 0)) > 0.01 * max([*mine.values(), 1])}
    return all(abs(mine.get(kind, 0) - theirs.get(kind, 0)) <= SAME_VOLUME * max(theirs.get(kind, 0), 1) for kind in large)


def drift(durations: NDArray[np.float64]) -> Regression | None:
    """Compare the last third of a job's steps with the first, durations in s; None if they do not differ.

    Steps longer than twice the median (pauses, hangs) are left out.
    """
    plain = durations[durations < 2 * np.median(durations)] if len(durations) else durations
    third = len(plain) // 3
    if third < MIN_STEPS:
        return None
    first, last = spread(plain[:third]), spread(plain[-third:])
    told = compare([Figure(STEP, last.median, last.error, True)], [[Figure(STEP, first.median, first.error, True)]])
    return told[0] if told else None


def compare(current: Sequence[Figure], before: Sequence[Sequence[Figure]]) -> tuple[Regression, ...]:
    """List the figures that differ from the median of the earlier runs, worse ones first; none if the step time is unchanged.

    Parts alone are no regression: the ranks of one stage are few, and their GPUs make them differ by some per cent.
    """
    out = []
    for own in current:
        past = [one for run in before for one in run if one.name == own.name]
        if not past:
            continue
        usual = float(np.median([one.value for one in past]))
        error = float(np.hypot(own.error, np.median([one.error for one in past]) / np.sqrt(len(past))))
        needed = max(MIN_DIFFERENCE, SIGMAS * error)
        if len(past) >= RUNS:
            needed = max(needed, SIGMAS * 1.4826 * float(np.median([abs(one.value - usual) for one in past])) / usual)
        ratio = own.value / usual
        if abs(np.log(ratio)) > np.log1p(needed):
            out.append(Regression(own.name, own.value, usual, ratio, needed, (ratio > 1) == own.more))
    if not any(one.name == STEP for one in out):
        return ()
    return tuple(sorted(out, key=lambda one: (not one.worse, one.name != STEP, -abs(np.log(one.ratio)))))
