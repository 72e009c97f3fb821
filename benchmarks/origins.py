"""Compute accuracy by origin: each set of captures, each foreign simulator, the own grid, and all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.reliability import LEAST, Said, area, curve
from benchmarks.score import Counts

LEAST_HEADING = "layouts said with at least"
FOREIGN = "foreign"  # folder of captures of several simulators, whose names start with the simulator
COLUMNS = {  # figure → heading
    "jobs_exact": "jobs",
    "jobs_extra": "extra",
    "layout_exact": "layout",
    "layout_set": "in set",
    "layouts_sure": "≥ 0.9",
    "layouts_sure_right": "right",
    "layout_product_wrong": "product",
    "groups_f1": "groups",
    "steps_recall": "steps",
    "steps_precision": "prec",
    "step_error_median": "error",
    "step_error_p95": "p95",
    "replays_close": "replay",
}


class Pool(NamedTuple):
    """Sum over the runs of one origin."""

    runs: int
    counts: Counts
    said: tuple[Said, ...]


def of_folder(folder: Path) -> str:
    """Return the origin of a capture: its folder's parent; of foreign ones also the simulator, the first word of the name."""
    parent = folder.parent.name
    return f"{parent} {folder.name.partition('_')[0]}" if parent == FOREIGN else parent


def pooled(runs: Iterable[tuple[str, Counts, Sequence[Said]]]) -> dict[str, Pool]:
    """Pool runs by origin."""
    pools: dict[str, Pool] = {}
    for origin, counts, said in runs:
        before = pools.get(origin, Pool(0, Counts(), ()))
        pools[origin] = Pool(before.runs + 1, before.counts + counts, (*before.said, *said))
    return pools


def table(pools: Mapping[str, Pool]) -> str:
    """Format one row per origin and one for all. `≥ 0.9`: number of layouts with this confidence, `right`: the right ones."""
    rows = _with_all(pools)
    width = max((len(name) for name in rows), default=0) + 2
    lines = [f"{'origin':{width}}{'runs':>5}{'true':>6}" + "".join(f"{title:>8}" for title in COLUMNS.values())]
    for name, pool in rows.items():
        figures = pool.counts.figures()
        cells = "".join(f"{_number(figures[figure]):>8}" for figure in COLUMNS)
        lines.append(f"{name:{width}}{pool.runs:>5}{pool.counts.jobs:>6}{cells}")
    return "\n".join(lines)


def curves(pools: Mapping[str, Pool]) -> str:
    """Format risk–coverage curves of the layouts: share of covered jobs, and share of wrong ones, by minimum confidence.

    `area`: the mean risk, most confident first.
    """
    rows = _with_all(pools)
    width = max(len(name) for name in (LEAST_HEADING, *rows)) + 2
    lines = [f"{LEAST_HEADING:{width}}" + "".join(f"{low:>12.2f}" for low in LEAST) + f"{'area':>8}"]
    lines.append(f"{'':{width}}" + f"{'cover risk':>12}" * len(LEAST))
    for name, pool in rows.items():
        cells = "".join(f"{f'{p.coverage:.2f} {_number(p.risk)}':>12}" for p in curve(pool.said, pool.counts.jobs))
        lines.append(f"{name:{width}}{cells}{_number(area(pool.said)):>8}")
    return "\n".join(lines)


def _with_all(pools: Mapping[str, Pool]) -> dict[str, Pool]:
    if len(pools) < 2:
        return dict(pools)
    counts = sum((pool.counts for pool in pools.values()), Counts())
    said = tuple(one for pool in pools.values() for one in pool.said)
    return {**pools, "all": Pool(sum(pool.runs for pool in pools.values()), counts, said)}


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.4f}" if 0 < value < 0.01 else f"{value:.3f}"
