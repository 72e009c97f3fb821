"""Arrange ranks and steps as a table: a row per rank, a column per step of the job (`step_numbers`).

Values are durations of steps, or the time of a rank in a phase, or in all its own work, in each step; ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.model import PHASES, Timeline
from prism.tracking.step_numbers import numbers
from prism.tracking.timeline_stitching import job_ends

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OWN_WORK = ("forward", "backward", "compute", "optimizer")  # phases that make up the measure `work`
MEASURES = ("duration", "work", *PHASES)
EVER = (0, 2**63 - 1)


class CellRange(NamedTuple):
    """Requested time [start_ns, end_ns) and ranks [first, last)."""

    start_ns: int = EVER[0]
    end_ns: int = EVER[1]
    first: int = 0
    last: int | None = None


ALL = CellRange()


class Grid(NamedTuple):
    """Steps of some ranks by number, for a requested time.

    `begin`, `end`: ns, int64[ranks, columns], of the numbers [first, first + columns). `there` is False if the rank has no such
    step, has it at another time, or if the step is incomplete (`Timeline.unseen`).
    """

    begin: Ints
    end: Ints
    there: NDArray[np.bool_]
    first: int


def step_grid(timeline: Timeline, ranks: Sequence[int], selection: CellRange = ALL) -> Grid:
    """Arrange the steps of some ranks in the requested time."""
    wide = len(job_ends(timeline))
    own = [timeline.steps[rank] for rank in ranks]
    if own and all(len(each) == wide for each in own):
        table, there = np.stack(own), np.ones((len(own), wide), np.bool_)
    else:
        table, there = np.zeros((len(own), wide, 2), np.int64), np.zeros((len(own), wide), np.bool_)
        for row, rank in enumerate(ranks):
            places = numbers(timeline, rank) - timeline.first
            table[row, places], there[row, places] = own[row], True
    if selection[:2] != EVER:
        there = there & (table[:, :, 1] > selection.start_ns) & (table[:, :, 0] < selection.end_ns)
    used = np.flatnonzero(there.any(axis=0))
    if timeline.unseen:
        there = there & ~timeline.partly_unseen(table[:, :, 0], table[:, :, 1])
    part = slice(used[0], used[-1] + 1) if len(used) else slice(0, 0)
    return Grid(table[:, part, 0], table[:, part, 1], there[:, part], timeline.first + int(part.start))


def cell_values(timeline: Timeline, first: int, last: int, grid: Grid, measure: str) -> Floats:
    """Compute a value for each cell of the grid of ranks [first, last), ms.

    NaN if there is none, or phases are no longer known. `measure`: `duration`, the name of a phase, or `work` for all own work
    of a rank. Raises ValueError for any other.
    """
    if measure == "duration":
        values = (grid.end - grid.begin) / 1e6
    else:
        begin = grid.first - timeline.first
        values = _spent(timeline, first, last, range(begin, begin + grid.there.shape[1]), measure)
        if len(timeline.phases):
            values[:, : max(int(timeline.phases.step.min()) - begin, 0)] = np.nan
    values[~grid.there] = np.nan
    return values


def _spent(timeline: Timeline, first: int, last: int, columns: range, measure: str, *, at_once: int = 1 << 16) -> Floats:
    """Measure how long ranks were in a phase (or at work) in each step, ms; in pieces that fit a processor's cache."""
    words = OWN_WORK if measure == "work" else (measure,)
    codes = [np.int8(PHASES.index(word)) for word in words]
    worked, wide = timeline.phases, len(columns)
    total: Floats = np.zeros((last - first) * wide)
    begin, end = np.searchsorted(worked.rank, np.array((first, last), worked.rank.dtype)).tolist()
    for at in range(begin, end, at_once):
        part = slice(at, min(at + at_once, end))
        phase, step = worked.phase[part], worked.step[part]
        wanted = (step >= columns.start) & (step < columns.stop) & np.logical_or.reduce([phase == code for code in codes])
        rows = np.flatnonzero(wanted) + at
        if len(rows):
            rank = worked.rank[rows]
            place = (rank - rank[0]).astype(np.int64) * wide + (worked.step[rows] - np.int32(columns.start))
            own = np.bincount(place, weights=worked.end_ns[rows] - worked.start_ns[rows])
            total[(int(rank[0]) - first) * wide :][: len(own)] += own
    shaped: Floats = total.reshape(last - first, wide) / 1e6
    return shaped
