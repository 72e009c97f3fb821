"""Arrange deviations of ranks and steps from the baseline in rows, with the culprit on top.

The baseline of a rank is its own median before the finding; without earlier steps, the median of its pipeline stage. Rows are
grouped by stage and DP group: the group of the culprit first, then by the largest deviation. Of a large job the ranks with the
largest deviations have a row each; the rest of their group shares one: the median of its ranks, which shows common changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.model import JobDiagnosis
from prism.topology import Topology
from prism.views.board_views import NOWHERE, Json, finite, membership, ns
from prism.views.rank_deviation import row_medians
from prism.views.step_cells import CellRange, Floats, cell_values, step_grid

MAX_SINGLE_RANKS = 64  # ranks up to which each has a row
SINGLES = 24  # single rows of a larger job
ROWS = 96  # rows at most; the last one contains all remaining ranks
COLUMNS = 400
Group = tuple[int | None, int | None]


class _Row(NamedTuple):
    """Ranks of one row, and their group; None if they belong to several."""

    ranks: NDArray[np.intp]
    group: Group


def arrange_rows(
    job: JobDiagnosis,
    begin_ns: int,
    selection: CellRange,
    *,
    measure: str = "work",
    blamed: Collection[int] = (),
    topology: Topology | None = None,
) -> Json:
    """Compute deviations of ranks in steps, ms; `begin_ns`: start of the deviation. Raises ValueError.

    `value`: a row per row of `rows`, a column per step, or per `binned` steps with the largest deviation.
    """
    many = len(job.job.endpoints)
    grid = step_grid(job.timeline, range(many), selection)
    values = cell_values(job.timeline, 0, many, grid, measure)
    begins = np.where(grid.there, grid.begin, np.iinfo(np.int64).max).min(axis=0, initial=np.iinfo(np.int64).max)
    since = begins >= begin_ns
    stages = np.array([job.parallelism.stages.get(endpoint, 0) for endpoint in job.job.endpoints])
    usual, now = row_medians(values[:, ~since]), row_medians(values[:, since])
    base = np.where(np.isfinite(usual), usual, _of_stage(now if since.any() else row_medians(values), stages))
    off = values - base[:, None]
    more = now - base
    rows = _rows(job, more, set(blamed))
    shown = np.stack([_median(off[row.ranks]) for row in rows]) if rows else np.zeros((0, off.shape[1]))
    by_step = max(-(-off.shape[1] // COLUMNS), 1)
    return {
        "zero_ns": ns(max(int(job.job.start_ns), selection.start_ns)),
        "measure": measure,
        "rows": [_row_json(job, row, more, topology) for row in rows],
        "steps": [
            [grid.first + at, grid.first + min(at + by_step, off.shape[1]) - 1] for at in range(0, off.shape[1], by_step)
        ],
        "value": [[finite(one) for one in row] for row in _furthest(shown, by_step).round(3).tolist()],
        "binned": by_step,
        "usual_ms": finite(float(np.nanmedian(base))) if np.isfinite(base).any() else None,
        "own_past": bool(np.isfinite(usual).any()),
    }


def _of_stage(values: Floats, stages: NDArray[np.int64]) -> Floats:
    out = np.full(len(values), np.nan)
    for stage in np.unique(stages):
        own = stages == stage
        out[own] = np.nanmedian(values[own]) if np.isfinite(values[own]).any() else np.nan
    return out


def _rows(found: JobDiagnosis, more: Floats, blamed: set[int]) -> list[_Row]:
    """Assign ranks to rows, from top to bottom."""
    many = len(more)
    member = membership(found, "dp")
    groups: dict[Group, list[int]] = defaultdict(list)
    for rank, endpoint in enumerate(found.job.endpoints):
        groups[found.parallelism.stages.get(endpoint), member.get(endpoint, {}).get("dp")].append(rank)
    far = np.where(np.isfinite(more), more, -np.inf)
    order = sorted(range(many), key=lambda rank: (rank not in blamed, -far[rank], rank))
    place = {rank: at for at, rank in enumerate(order)}
    alone = set(order) if many <= MAX_SINGLE_RANKS else set(order[: max(SINGLES, min(len(blamed), MAX_SINGLE_RANKS))])
    out: list[_Row] = []
    for group in sorted(groups, key=lambda one: min(place[rank] for rank in groups[one])):
        own = sorted(groups[group], key=place.__getitem__)
        out += [_Row(np.array([rank]), group) for rank in own if rank in alone]
        rest = [rank for rank in own if rank not in alone]
        if rest:
            out.append(_Row(np.array(rest), group))
    if len(out) <= ROWS:
        return out
    left = np.concatenate([row.ranks for row in out[ROWS - 1 :]])
    return [*out[: ROWS - 1], _Row(left, (None, None))]


def _median(values: Floats) -> Floats:
    """Compute the median of each column; NaN without any."""
    return values[0] if len(values) == 1 else row_medians(values.T)


def _furthest(values: Floats, by_step: int) -> Floats:
    """Select the value furthest from 0 in every bin of steps."""
    if by_step == 1 or not values.size:
        return values
    cuts = np.arange(0, values.shape[1], by_step)
    low, high = np.fmin.reduceat(values, cuts, axis=1), np.fmax.reduceat(values, cuts, axis=1)
    return np.where(np.abs(low) > np.abs(high), low, high)


def _row_json(found: JobDiagnosis, row: _Row, more: Floats, topology: Topology | None) -> Json:
    stage, group = row.group
    own = more[row.ranks]
    about: Json = {
        "ranks": len(row.ranks),
        "rank": None,
        "endpoint": None,
        "host": None,
        "stage": stage,
        "group": group,
        "deviation_ms": finite(float(np.nanmedian(own))) if np.isfinite(own).any() else None,
    }
    if len(row.ranks) > 1:
        return about
    rank = int(row.ranks[0])
    endpoint = found.job.endpoints[rank]
    place = (topology.endpoints.get(endpoint) if topology else None) or NOWHERE
    return about | {"rank": rank, "endpoint": endpoint, "host": place.host}
