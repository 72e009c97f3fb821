"""What has one entry per rank and step: the heat of steps and the timeline, in as much detail as fits; see `views`.

An answer stays small however large the job is. Where there is too much, neighbours are put into bins and the slowest of a bin
is shown, since it is what somebody looks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.model import PHASES, JobDiagnosis, Phases, Spans
from prism.views import Json, membership, ns

Level = Literal["spans", "phases", "steps"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_CELLS, MAX_SPANS = 40_000, 20_000
EVER = (0, 2**63 - 1)


class Stretch(NamedTuple):
    """Which time [start_ns, end_ns) and which ranks [first, last) are asked for."""

    start_ns: int = EVER[0]
    end_ns: int = EVER[1]
    first: int = 0
    last: int | None = None


ALL = Stretch()


def steps(found: JobDiagnosis, asked: Stretch = ALL, *, max_cells: int = MAX_CELLS, measure: str = "duration") -> Json:
    """How long each step of each rank took, ms, and each step of the job.

    `measure`: `duration`, or the word of a phase: how long the rank spent in it in each step. Rows are ranks, columns are steps
    by number; above `max_cells` they are put into bins of `binned` ranks and steps, of which the greatest value is shown.
    """
    first, last = _ranks(found, asked)
    own = found.timeline.steps[first:last]
    table, columns = _table(own, asked)
    values = _durations(own, columns) if measure == "duration" else _spent(found, first, last, columns, measure)
    values[~table] = np.nan
    ranks, wide = _bins(values.shape[0], values.shape[1], max_cells)
    binned = _greatest(values, ranks, wide)
    zero = _zero(found, asked)
    starts, durations = _job_steps(found, asked)
    return {
        "zero_ns": ns(zero),
        "measure": measure,
        "job": {"start_ms": _ms(starts - zero), "duration_ms": _tenths(durations)},
        "heat": {
            "ranks": _spans_of(first, values.shape[0], ranks),
            "steps": _spans_of(columns.start, values.shape[1], wide),
            "value": [_tenths(row) for row in binned],
            "binned": {"ranks": ranks, "steps": wide},
        },
    }


def _ranks(found: JobDiagnosis, asked: Stretch) -> tuple[int, int]:
    most = len(found.job.endpoints)
    first = min(asked.first, most)
    return first, most if asked.last is None else max(min(asked.last, most), first)


def _zero(found: JobDiagnosis, asked: Stretch) -> int:
    """From when times are counted: the begin of what is shown."""
    return max(int(found.job.start_ns), asked.start_ns)


def _table(own: Sequence[Ints], asked: Stretch) -> tuple[NDArray[np.bool_], range]:
    """Which ranks have which steps in the time asked for; and which numbers these steps have."""
    counts = np.array([len(s) for s in own], np.int64)
    flat = np.concatenate(own) if len(own) else np.zeros((0, 2), np.int64)
    number = np.arange(len(flat)) - np.repeat(np.cumsum(counts) - counts, counts)
    inside = (flat[:, 1] > asked.start_ns) & (flat[:, 0] < asked.end_ns)
    if not inside.any():
        return np.zeros((len(own), 0), np.bool_), range(0)
    shown = number[inside]
    columns = range(int(shown.min()), int(shown.max()) + 1)
    table = np.zeros((len(own), len(columns)), np.bool_)
    table[np.repeat(np.arange(len(own)), counts)[inside], shown - columns.start] = True
    return table, columns


def _durations(own: Sequence[Ints], columns: range) -> Floats:
    """Durations of steps by rank and number, ms; NaN where a rank has none of that number."""
    values = np.full((len(own), len(columns)), np.nan)
    for row, each in zip(values, own, strict=True):
        part = each[columns.start : columns.stop]
        row[: len(part)] = (part[:, 1] - part[:, 0]) / 1e6
    return values


def _spent(found: JobDiagnosis, first: int, last: int, columns: range, phase: str) -> Floats:
    """How long ranks were in a phase in each step, ms. Raises ValueError where there is no such phase."""
    code = PHASES.index(phase)
    worked, wide = found.timeline.phases, len(columns)
    rows = slice(*np.searchsorted(worked.rank, (first, last)))
    fits = (worked.phase[rows] == code) & (worked.step[rows] >= columns.start) & (worked.step[rows] < columns.stop)
    place = (worked.rank[rows][fits].astype(np.int64) - first) * wide + worked.step[rows][fits] - columns.start
    length = (worked.end_ns[rows][fits] - worked.start_ns[rows][fits]) / 1e6
    return np.bincount(place, weights=length, minlength=(last - first) * wide).astype(np.float64).reshape(last - first, wide)


def _bins(ranks: int, wide: int, most: int) -> tuple[int, int]:
    """How many ranks and steps make a bin, so that at most `most` bins are left: both sides alike, as far as they can."""
    by_rank = by_step = 1
    while -(-ranks // by_rank) * -(-wide // by_step) > most:
        if -(-ranks // by_rank) >= -(-wide // by_step):
            by_rank += 1
        else:
            by_step += 1
    return by_rank, by_step


def _greatest(values: Floats, by_rank: int, by_step: int) -> Floats:
    """The greatest value of every bin; NaN where it has none."""
    if values.size == 0:
        return values
    if by_rank > 1:
        values = np.fmax.reduceat(values, np.arange(0, values.shape[0], by_rank), axis=0)
    if by_step > 1:
        values = np.fmax.reduceat(values, np.arange(0, values.shape[1], by_step), axis=1)
    return values


def _spans_of(first: int, many: int, each: int) -> list[int] | list[list[int]]:
    """Numbers, or first and last number of every bin."""
    if each == 1:
        return list(range(first, first + many))
    return [[first + at, first + min(at + each, many) - 1] for at in range(0, many, each)]


def _job_steps(found: JobDiagnosis, asked: Stretch) -> tuple[Ints, Floats]:
    """When each step of the job began, ns, and how long it took, ms: the medians over those ranks that have most steps."""
    own = found.timeline.steps
    counts = [len(s) for s in own if len(s)]
    if not counts:
        return np.zeros(0, np.int64), np.zeros(0)
    most = max(set(counts), key=counts.count)
    whole = np.stack([s for s in own if len(s) == most])
    base = int(whole[0, 0, 0])
    edges = np.median(whole - base, axis=0)
    starts, ends = edges[:, 0].astype(np.int64) + base, edges[:, 1].astype(np.int64) + base
    inside = (ends > asked.start_ns) & (starts < asked.end_ns)
    return starts[inside], ((ends - starts) / 1e6)[inside]


def timeline(found: JobDiagnosis, asked: Stretch = ALL, *, max_spans: int = MAX_SPANS, level: Level | None = None) -> Json:
    """What ranks did when, in the finest level that fits into `max_spans`; not finer than `level` where that is given.

    `spans`: every stretch of communication with its peer, which may overlap; `phases`: all through the steps, without overlap;
    `steps`: the steps alone. Where even these are too many, neighbours in time are joined and of neighbouring ranks the one
    whose steps take longest is shown: `truncated` says so.
    """
    first, last = _ranks(found, asked)
    rows = np.arange(first, last)
    cut = _chosen(found, asked, first, last, max_spans, level)
    truncated = cut is None
    if cut is None:
        rows, cut = _few(found, asked, first, last, max_spans)
    zero = _zero(found, asked)
    row = np.searchsorted(rows, cut.rank)
    return {
        "zero_ns": ns(zero),
        "level": cut.level,
        "phases": list(PHASES),
        "rows": _rows(found, rows),
        "ranks_total": len(found.job.endpoints),
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
    """Bars of a timeline; `phase` is -1 where a bar is a step."""

    level: Level
    start: Ints
    end: Ints
    rank: NDArray[Any]
    phase: NDArray[Any]
    peer: NDArray[Any]


def _chosen(found: JobDiagnosis, asked: Stretch, first: int, last: int, most: int, level: Level | None) -> _Cut | None:
    """The bars of the finest level that fits; None where no level does."""
    line = found.timeline
    if level in (None, "spans") and len(line.spans):
        rows = _inside(line.spans, asked, first, last, most)
        if rows is not None:
            s = line.spans
            return _Cut("spans", s.start_ns[rows], s.end_ns[rows], s.rank[rows], s.phase[rows], s.peer[rows])
    if level != "steps" and len(line.phases):
        p = line.phases
        part = slice(*np.searchsorted(p.rank, (first, last)))
        rows = _inside(Phases(*(getattr(p, name)[part] for name in vars(p))), asked, first, last, most)
        if rows is not None:
            rows = rows + part.start
            return _Cut("phases", p.start_ns[rows], p.end_ns[rows], p.rank[rows], p.phase[rows], np.full(len(rows), -1))
    if sum(map(len, line.steps[first:last])) > most and asked[:2] == EVER:
        return None
    counts = [len(s) for s in line.steps[first:last]]
    flat = np.concatenate(line.steps[first:last]) if counts else np.zeros((0, 2), np.int64)
    inside = (flat[:, 1] > asked.start_ns) & (flat[:, 0] < asked.end_ns)
    if np.count_nonzero(inside) > most:
        return None
    rank = np.repeat(np.arange(first, last), counts)[inside]
    none = np.full(len(rank), -1)
    return _Cut("steps", flat[inside, 0], flat[inside, 1], rank, none, none)


def _inside(bars: Spans | Phases, asked: Stretch, first: int, last: int, most: int) -> NDArray[np.intp] | None:
    """Places of the bars in the time and of the ranks asked for; None where they are more than `most`."""
    inside = (bars.end_ns > asked.start_ns) & (bars.start_ns < asked.end_ns) & (bars.rank >= first) & (bars.rank < last)
    return np.flatnonzero(inside) if np.count_nonzero(inside) <= most else None


def _few(found: JobDiagnosis, asked: Stretch, first: int, last: int, most: int) -> tuple[NDArray[np.intp], _Cut]:
    """Steps of so few ranks, and so few joined steps of each, that they are at most `most`."""
    table, columns = _table(found.timeline.steps[first:last], asked)
    slow = np.array([np.median(s[:, 1] - s[:, 0]) if len(s) else 0.0 for s in found.timeline.steps[first:last]])
    by_rank, by_step = _bins(table.shape[0], table.shape[1], most)
    shown = np.array([at + int(np.argmax(slow[at : at + by_rank])) for at in range(0, last - first, by_rank)], np.intp)
    parts = []
    for rank in shown:
        own = found.timeline.steps[first + rank][columns.start : columns.stop]
        begins = np.arange(0, len(own), by_step)
        ends = np.minimum(begins + by_step, len(own)) - 1
        parts.append(np.stack([np.full(len(begins), first + rank), own[begins, 0], own[ends, 1]]))
    rank, start, end = np.concatenate(parts, axis=1)
    none = np.full(len(rank), -1)
    return first + shown, _Cut("steps", start, end, rank, none, none)


def _rows(found: JobDiagnosis, ranks: NDArray[np.intp]) -> list[Json]:
    """Which rank a row is. `group`: which DP group it is in, None in none."""
    member, stages = membership(found), found.parallelism.stages
    unknown = 0 if found.parallelism.layout.pp == 1 else None
    names = found.job.endpoints
    return [
        {
            "rank": rank,
            "endpoint": names[rank],
            "stage": stages.get(names[rank], unknown),
            "group": member.get(names[rank], {}).get("dp"),
        }
        for rank in ranks.tolist()
    ]


def _ms(times_ns: Ints) -> list[float]:
    """Times since zero as ms to a microsecond."""
    out: list[float] = (np.round(times_ns / 1e3) / 1e3).tolist()
    return out


def _tenths(durations_ms: Floats) -> list[float | None]:
    """Durations with a digit behind the comma of a tenth of a percent; None where there is none."""
    return [None if value != value else value for value in np.round(durations_ms, 3).tolist()]
