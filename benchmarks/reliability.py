"""Compare stated confidence with the share of right statements: layouts and claims of reports, against their truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.score import loud, true_findings

Json = Mapping[str, Any]
BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
LEAST = (0.99, 0.95, 0.9, 0.8, 0.7, 0.5, 0.0)


class Said(NamedTuple):
    """One statement: `what` (layout or claim), its confidence, and whether it was right."""

    what: str
    confidence: float
    right: bool


def statements(report: Json, truth: Json) -> list[Said]:
    """List the layout of every reported true job, and every claim.

    A layout is right if all sizes are; a claim if it finds a fault (benchmarks.score).
    """
    said = []
    for job in truth["jobs"].values():
        addresses = {rank["ip"] for rank in job["ranks"]}
        for found in report["jobs"]:
            if set(found["endpoints"]) == addresses:
                right = all(found["parallelism"].get(kind, 1) == size for kind, size in job["layout"].items())
                said.append(Said("layout", found["confidence"], right))
    good = {id(f) for _, findings in true_findings(report, truth) for f in findings}
    return said + [Said("claim", f["confidence"], id(f) in good) for f in loud(report)]


def table(said: Sequence[Said]) -> str:
    """Format rows by confidence: number of statements, mean confidence, share of right ones."""
    lines = [f"{'confidence':14}" + "".join(f"{what + 's':>10}{'mean':>7}{'right':>7}" for what in ("layout", "claim"))]
    for low, high in zip(BINS, (*BINS[1:], 1.01), strict=True):
        cells = ""
        for what in ("layout", "claim"):
            own = [s for s in said if s.what == what and low <= s.confidence < high]
            mean, right = (sum(getattr(s, name) for s in own) / len(own) if own else None for name in ("confidence", "right"))
            cells += f"{len(own):>10}" + "".join(f"{'-' if v is None else f'{v:.2f}':>7}" for v in (mean, right))
        lines.append(f"{low:.2f} … {min(high, 1.0):.2f}   {cells}")
    return "\n".join(lines)


class Point(NamedTuple):
    """A point of a risk–coverage curve: share of jobs with at least this confidence, and share of wrong layouts among them.

    `risk` is None without jobs.
    """

    least: float
    coverage: float
    risk: float | None


def curve(said: Sequence[Said], jobs: int, least: Sequence[float] = LEAST) -> list[Point]:
    """Compute risk and coverage of layouts.

    A true job that is not reported exactly has no layout, so coverage may end below 1.
    """
    out = []
    for low in least:
        own = [s.right for s in said if s.what == "layout" and s.confidence >= low]
        out.append(Point(low, len(own) / jobs if jobs else 0.0, 1 - sum(own) / len(own) if own else None))
    return out


def area(said: Sequence[Said]) -> float | None:
    """Compute the area under the risk–coverage curve: the mean risk, most confident first (Geifman et al. 2019).

    Layouts of one confidence count as one point.
    """
    own = [s for s in said if s.what == "layout"]
    risks = [curve(own, len(own), [s.confidence])[0].risk or 0.0 for s in own]
    return sum(risks) / len(risks) if risks else None
