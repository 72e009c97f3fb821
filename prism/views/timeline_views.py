"""Convert data per rank and step, the heat of steps and the timeline, in as much detail as fits; see `board_views`.

Answers stay small for any job size. Above the limit, neighbours are binned, and the slowest of a bin is shown, because users
look for it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.model import PHASES, JobDiagnosis, Phases, Spans
from prism.topology import Topology
from prism.tracking.board import Case
from prism.views import usual_step_times
from prism.views.board_views import NOWHERE, Json, finite, membership, ns
from prism.views.step_cells import ALL, EVER, CellRange, Floats, Ints, cell_values, step_grid
from prism.views.step_sums import sums

Level = Literal["spans", "phases", "steps"]
MAX_CELLS, MAX_SPANS = 40_000, 20_000


def steps(
    job: JobDiagnosis,
    selection: CellRange = ALL,
    *,
    max_cells: int = MAX_CELLS,
    measure: str = "duration",
    cases: Collection[Case] = (),
    finding: str | None = None,
) -> Json:
    """Compute the duration of each step of each rank, and of each step of the job.

    Parameters
    ----------
    job : JobDiagnosis
        The job.
    selection : CellRange
        Time and ranks to show.
    max_cells : int
        Maximum number of cells; above it, ranks and steps are binned, with the maximum of each bin.
    measure : str
        `duration`, the name of a phase, or `work` for all own work of a rank.
    cases : collection of Case
        Findings of the job.
    finding : str or None
        Id of the finding for the usual times; see `usual_step_times.usual_times`.

    Returns
    -------
    dict
        Times in ms by rank (row) and step (column), and the usual times, for any requested range. Incomplete steps have no
        time.

    Raises
    ------
    ValueError
        The measure is unknown.
    """
    first, last = _ranks(job, selection)
    grid = step_grid(job.timeline, range(first, last), selection)
    many, wide = grid.there.shape
    values = cell_values(job.timeline, first, last, grid, measure)
    by_rank, by_step = _bins(many, wide, max_cells)
    zero = _zero(job, selection)
    number, starts, durations = _job_steps(job, selection)
    usual = usual_step_times.usual_times(job, cases, measure, finding)
    return {
        "zero_ns": ns(zero),
        "measure": measure,
        "job": {"first": number, "start_ms": _ms(starts - zero), "duration_ms": _tenths(durations)},
        "heat": {
            "ranks": _spans_of(first, many, by_rank),
            "steps": _spans_of(grid.first, wide, by_step),
            "value": [_tenths(row) for row in _greatest(values, by_rank, by_step)],
            "binned": {"ranks": by_rank, "steps": by_step},
        },
        "usual": {
            "step_ms": None if usual.step_ms is None else finite(usual.step_ms),
            "value_ms": None if usual.value_ms is None else finite(usual.value_ms),
            "finding": usual.case,
        },
    }


def _ranks(found: JobDiagnosis, selection: CellRange) -> tuple[int, int]:
    most = len(found.job.endpoints)
    first = min(selection.first, most)
    return first, most if selection.last is None else max(min(selection.last, most), first)


def _zero(found: JobDiagnosis, selection: CellRange) -> int:
    """Return the zero of times: the start of the shown range."""
    return max(int(found.job.start_ns), selection.start_ns)


def _bins(ranks: int, wide: int, most: int) -> tuple[int, int]:
    """Choose ranks and steps per bin for at most `most` bins, with similar factors."""
    by_rank = by_step = 1
    while -(-ranks // by_rank) * -(-wide // by_step) > most:
        if -(-ranks // by_rank) >= -(-wide // by_step):
            by_rank += 1
        else:
            by_step += 1
    return by_rank, by_step


def _greatest(values: Floats, by_rank: int, by_step: int) -> Floats:
    """Compute the maximum of every bin; NaN for an empty bin."""
    if values.size == 0:
        return values
    if by_rank > 1:
        values = np.fmax.reduceat(values, np.arange(0, values.shape[0], by_rank), axis=0)
    if by_step > 1:
        values = np.fmax.reduceat(values, np.arange(0, values.shape[1], by_step), axis=1)
    return values


def _spans_of(first: int, many: int, each: int) -> list[int] | list[list[int]]:
    """Return numbers, or first and last number of every bin."""
    if each == 1:
        return list(range(first, first + many))
    return [[first + at, first + min(at + each, many) - 1] for at in range(0, many, each)]


def _job_steps(found: JobDiagnosis, selection: CellRange) -> tuple[int, Ints, Floats]:
    """Return the number of the job's first step in the requested time, and start, ns, and duration, ms, of each."""
    known = sums(found)
    inside = (known.end_ns > selection.start_ns) & (known.start_ns < selection.end_ns)
    first = int(np.argmax(inside)) if inside.any() else 0
    return found.timeline.first + first, known.start_ns[inside], known.duration_ms[inside]


def timeline(
    job: JobDiagnosis,
    selection: CellRange = ALL,
    *,
    topology: Topology | None = None,
    max_spans: int = MAX_SPANS,
    level: Level | None = None,
) -> Json:
    """Build a timeline of ranks in the finest level that fits into `max_spans`.

    Parameters
    ----------
    job : JobDiagnosis
        The job.
    selection : CellRange
        Time and ranks to show.
    topology : Topology or None
        Hosts and rails of the rows.
    max_spans : int
        Maximum number of bars.
    level : {"spans", "phases", "steps"} or None
        Finest level. `spans`: every span of communication with its peer, may overlap; `phases`: all steps, without overlap;
        `steps`: the steps alone.

    Returns
    -------
    dict
        Rows and bars. If even steps are too many, neighbours in time are joined, and of neighbouring ranks the one with the
        longest steps is shown (`truncated`).
    """
    first, last = _ranks(job, selection)
    rows = np.arange(first, last)
    cut = _chosen(job, selection, first, last, max_spans, level)
    truncated = cut is None
    if cut is None:
        rows, cut = _reduced(job, selection, first, last, max_spans)
    zero = _zero(job, selection)
    row = np.searchsorted(rows, cut.rank)
    return {
        "zero_ns": ns(zero),
        "level": cut.level,
        "phases": list(PHASES),
        "rows": _rows(job, topology, rows),
        "ranks_total": len(job.job.endpoints),
        "spans": {
            "row": row.tolist(),
            "start_ms": _ms(cut.start - zero),
            "end_ms": _ms(cut.end - zero),
            "phase": cut.phase.tolist(),
            "peer": cut.peer.tolist(),
        },
        "truncated": truncated,
    }


class _Cut(NamedTuple):
    """Bars of a timeline; `phase` is -1 if a bar is a step."""

    level: Level
    start: Ints
    end: Ints
    rank: NDArray[Any]
    phase: NDArray[Any]
    peer: NDArray[Any]


def _chosen(found: JobDiagnosis, selection: CellRange, first: int, last: int, most: int, level: Level | None) -> _Cut | None:
    """Choose the bars of the finest level that fits; None if no level does."""
    line = found.timeline
    if level in (None, "spans") and len(line.spans):
        rows = _inside(line.spans, slice(0, None), selection, (first, last), most)
        if rows is not None:
            s = line.spans
            return _Cut("spans", s.start_ns[rows], s.end_ns[rows], s.rank[rows], s.phase[rows], s.peer[rows])
    if level != "steps" and len(line.phases):
        p = line.phases
        own = slice(*np.searchsorted(p.rank, np.array((first, last), p.rank.dtype)))
        rows = _inside(p, own, selection, None, most)
        if rows is not None:
            return _Cut("phases", p.start_ns[rows], p.end_ns[rows], p.rank[rows], p.phase[rows], np.full(len(rows), -1))
    grid = step_grid(line, range(first, last), selection)
    if np.count_nonzero(grid.there) > most:
        return None
    rank, _ = np.nonzero(grid.there)
    none = np.full(len(rank), -1)
    return _Cut("steps", grid.begin[grid.there], grid.end[grid.there], first + rank, none, none)


def _inside(
    bars: Spans | Phases, part: slice, selection: CellRange, ranks: tuple[int, int] | None, most: int
) -> NDArray[np.intp] | None:
    """Select the places of bars in `part` within the requested time and `ranks`; None if there are more than `most`."""
    start, end, rank = bars.start_ns[part], bars.end_ns[part], bars.rank[part]
    inside = np.ones(len(start), np.bool_)
    if selection[:2] != EVER:
        inside = (end > selection.start_ns) & (start < selection.end_ns)
    if ranks is not None:
        inside &= (rank >= ranks[0]) & (rank < ranks[1])
    return np.flatnonzero(inside) + part.start if np.count_nonzero(inside) <= most else None


def _reduced(found: JobDiagnosis, selection: CellRange, first: int, last: int, most: int) -> tuple[NDArray[np.intp], _Cut]:
    """Select fewer ranks and join steps, so that at most `most` bars are left."""
    slow = np.nan_to_num(sums(found).median_ms[first:last])
    wide = max(map(len, found.timeline.steps[first:last]))
    by_rank = max(_bins(last - first, wide, most)[0], 1)
    shown = np.array([at + int(np.argmax(slow[at : at + by_rank])) for at in range(0, last - first, by_rank)], np.intp)
    grid = step_grid(found.timeline, (first + shown).tolist(), selection)
    by_step = 1
    while len(shown) * -(-grid.there.shape[1] // by_step) > most:
        by_step += 1
    cuts = np.arange(0, grid.there.shape[1], by_step)
    start = np.minimum.reduceat(np.where(grid.there, grid.begin, EVER[1]), cuts, axis=1)
    end = np.maximum.reduceat(np.where(grid.there, grid.end, 0), cuts, axis=1)
    rank, _ = np.nonzero(end)
    none = np.full(len(rank), -1)
    return first + shown, _Cut("steps", start[end > 0], end[end > 0], first + shown[rank], none, none)


def _rows(found: JobDiagnosis, topology: Topology | None, ranks: NDArray[np.intp]) -> list[Json]:
    """Convert the rank and the place of each row. `group`: its DP group, or None."""
    stages, names = found.parallelism.stages, found.job.endpoints
    member = membership(found, "dp")
    unknown = 0 if found.parallelism.layout.pp == 1 else None
    places = topology.endpoints if topology else {}
    shown = [(rank, names[rank], places.get(names[rank], NOWHERE)) for rank in ranks.tolist()]
    return [
        {
            "rank": rank,
            "endpoint": name,
            "host": place.host,
            "rail": place.rail,
            "stage": stages.get(name, unknown),
            "group": member.get(name, {}).get("dp"),
        }
        for rank, name, place in shown
    ]


def _ms(times_ns: Ints) -> list[float]:
    """Convert times since zero to ms with a resolution of a microsecond."""
    out: list[float] = (np.round(times_ns / 1e3) / 1e3).tolist()
    return out


def _tenths(durations_ms: Floats) -> list[float | None]:
    """Round durations to one more digit than a tenth of a percent; None for unknown ones."""
    return [None if value != value else value for value in np.round(durations_ms, 3).tolist()]
