"""Save a board and its records in a file of plain values (`packing`). Reading creates only the classes of a board.

The file is not trusted, because its writer read files of strangers: indices are checked before use.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import COLUMNS, Flows
from prism.model import PHASES, JobDiagnosis
from prism.storage.packing import packed, unpacked
from prism.tracking.board import Board
from prism.tracking.flow_sources import Memory
from prism.tracking.outages import MOST

SCHEMA = "prism-board/1"


class Replayed(NamedTuple):
    """Result of a replay: its board, and its records."""

    board: Board
    records: Memory


class _Kept(NamedTuple):
    board: Board
    flows: Flows


def save(path: str | Path, board: Board, flows: Flows) -> None:
    """Write a board and its records. Raises OSError, or ValueError if there is too much text."""
    jobs = tuple(replace(status, found=bare(status.found)) for status in board.jobs)
    with open(path, "wb") as file:
        file.writelines(packed(_Kept(replace(board, jobs=jobs), flows), _Kept, SCHEMA))


def load(path: str | Path) -> Replayed:
    """Read a board and its records. Raises ValueError with the name of the file if anything in it is invalid."""
    try:
        found: _Kept = unpacked(np.fromfile(path, np.uint8), _Kept, SCHEMA)
        for status in found.board.jobs:
            check_job(status.found)
        _check_flows(found.flows)
    except (ValueError, OSError, MemoryError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{path}: no board: {why}") from None
    return Replayed(found.board, Memory(found.flows))


def bare(job: JobDiagnosis) -> JobDiagnosis:
    """Return a job without the rows of its streams, which only the analysis needs."""
    none = np.zeros(0, np.intp)
    streams = tuple(replace(stream, rows=none) for stream in job.parallelism.streams)
    return replace(job, parallelism=replace(job.parallelism, streams=streams))


def check_job(job: JobDiagnosis) -> None:
    """Check that arrays of a job fit each other and its endpoints. Raises ValueError."""
    ranks, timeline = len(job.job.endpoints), job.timeline
    if len(timeline.steps) != ranks or any(own.ndim != 2 or own.shape[1] != 2 for own in timeline.steps):
        raise ValueError("the steps of a job are not those of its ranks")
    spans, phases = timeline.spans, timeline.phases
    _check_lengths([getattr(spans, name) for name in ("start_ns", "end_ns", "rank", "phase", "peer")])
    _check_lengths([getattr(phases, name) for name in ("start_ns", "end_ns", "rank", "step", "phase")])
    if spans.octets.shape not in ((0,), spans.rank.shape):
        raise ValueError("columns differ in length")
    steps = max((len(own) for own in timeline.steps), default=0)
    for values, low, high in (
        (spans.rank, 0, ranks),
        (spans.peer, -1, ranks),
        (spans.phase, 0, len(PHASES)),
        (phases.rank, 0, ranks),
        (phases.step, 0, steps),
        (phases.phase, 0, len(PHASES)),
    ):
        _check_within(values, low, high)
    if len(timeline.unseen) > MOST:
        raise ValueError(f"a job has more than {MOST} gaps in collection")
    if not 0 <= timeline.first < 1 << 62:
        raise ValueError("the first step of a job has a number that none can have")
    if np.any(np.diff(phases.rank) < 0):
        raise ValueError("phases are not in order of rank")
    members = set(job.job.endpoints)
    named = {end for pair in job.parallelism.pairs for end in pair[:2]}.union(*(g.members for g in job.parallelism.groups))
    if not named <= members:
        raise ValueError("a group or a pair of a job names none of its endpoints")


def _check_flows(flows: Flows) -> None:
    _check_lengths([getattr(flows, column.name) for column in COLUMNS])
    for values, names in (
        (flows.src, flows.endpoints),
        (flows.dst, flows.endpoints),
        (flows.exporter, flows.exporters or ("",)),
        (flows.path, flows.paths),
    ):
        _check_within(values, 0, len(names))


def _check_lengths(columns: list[NDArray[Any]]) -> None:
    if any(column.ndim != 1 or column.shape != columns[0].shape for column in columns):
        raise ValueError("columns differ in length")


def _check_within(values: NDArray[Any], low: int, high: int) -> None:
    if len(values) and not (low <= int(values.min()) and int(values.max()) < high):
        raise ValueError(f"a code is not in {low} to {high - 1}")
