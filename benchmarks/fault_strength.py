"""Count found faults by how much they slow the steps: a weak fault may be missed, a strong one not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.score import true_findings

Json = Mapping[str, Any]
BINS = (1.0, 1.1, 1.2, 1.5, 2.0)  # ratios of a step with the fault to the same step without it


class Strength(NamedTuple):
    """A true fault: by how much it slows the steps that contain it, None if that is not known or it stops them; if found."""

    slowdown: float | None
    found: bool


def strengths(report: Json, truth: Json) -> list[Strength]:
    """List the faults of known time. Their `slowdown` in the truth is the simulator's own counterfactual."""
    return [Strength(fault.get("slowdown"), bool(findings)) for fault, findings in true_findings(report, truth)]


def table(faults: Sequence[Strength]) -> str:
    """Format rows by slowdown: number of faults, and of those found."""
    rows = [("unknown, or stops", [f for f in faults if f.slowdown is None])]
    for low, high in zip(BINS, (*BINS[1:], float("inf")), strict=True):
        name = f"{low:.1f} … {high:.1f}" if high < float("inf") else f"{low:.1f} and more"
        rows.append((name, [f for f in faults if f.slowdown is not None and low <= max(f.slowdown, 1.0) < high]))
    lines = [f"{'slowdown':18}{'faults':>8}{'found':>8}"]
    return "\n".join([*lines, *(f"{name:18}{len(own):>8}{sum(f.found for f in own):>8}" for name, own in rows)])
