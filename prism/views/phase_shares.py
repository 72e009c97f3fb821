"""Compute shares of phases over time for groups of ranks; see `board_views`.

This is the timeline of jobs with too many ranks, or of too much time, for a bar per phase. Rows are single ranks, and groups of
ranks by stage and DP group; if there are too many groups, by stage.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.model import PHASES, JobDiagnosis
from prism.topology import Topology
from prism.views.board_views import NOWHERE, Json, membership, ns
from prism.views.step_cells import CellRange, Floats, Ints

MAX_ROWS, MAX_SINGLES, BINS = 48, 48, 300
MS = 1e6


def shares(
    job: JobDiagnosis,
    selection: CellRange,
    *,
    singles: Sequence[int] = (),
    alone: bool = False,
    bins: int = BINS,
    topology: Topology | None = None,
) -> Json:
    """Compute shares of phases in `bins` equal bins of the selection, limited to the known time of the job.

    `singles`: ranks with their own row, the first `MAX_SINGLES` of them; with `alone` there are no other rows. `share`: by row
    and bin the phases that occur, as [index into `phases`, share], largest first; the rest up to 1 is unknown.
    """
    worked = job.timeline.phases
    start = max(selection.start_ns, job.job.start_ns)
    end = min(selection.end_ns, max(job.job.end_ns, int(worked.end_ns.max(initial=0))))
    end = max(end, start + 1)
    edges = np.linspace(0, end - start, bins + 1)
    own, rows = _rows(job, [rank for rank in singles if rank < len(job.job.endpoints)][:MAX_SINGLES], alone)
    inside = np.flatnonzero((worked.end_ns > start) & (worked.start_ns < end))
    inside = inside[own[worked.rank[inside]] >= 0]
    begins, ends = worked.start_ns[inside] - start, worked.end_ns[inside] - start
    time = _time(begins, ends, own[worked.rank[inside]], worked.phase[inside], len(rows), edges)
    each = np.array([row["ranks"] for row in rows], np.float64)[:, None, None] * (end - start) / bins
    part = np.round(time / each, 3) if len(rows) else time
    return {
        "zero_ns": ns(start),
        "bin_ms": (end - start) / bins / MS,
        "phases": list(PHASES),
        "ranks_total": len(job.job.endpoints),
        "rows": [_placed(row, job, topology) for row in rows],
        "share": [[_bin(one) for one in row] for row in part.transpose(0, 2, 1)],
    }


def _rows(found: JobDiagnosis, singles: Sequence[int], alone: bool) -> tuple[NDArray[np.intp], list[Json]]:
    """Return the row of each rank, -1 for none; and the rows."""
    many = len(found.job.endpoints)
    own = np.full(many, -1, np.intp)
    rows: list[Json] = []
    member, stages = membership(found, "dp"), found.parallelism.stages
    for rank in dict.fromkeys(singles):
        endpoint = found.job.endpoints[rank]
        own[rank] = len(rows)
        rows.append({"ranks": 1, "rank": rank, "stage": stages.get(endpoint), "group": member.get(endpoint, {}).get("dp")})
    if alone:
        return own, rows
    groups: dict[tuple[Any, Any], list[int]] = defaultdict(list)
    for rank, endpoint in enumerate(found.job.endpoints):
        if own[rank] < 0:
            groups[stages.get(endpoint), member.get(endpoint, {}).get("dp")].append(rank)
    if len(groups) + len(rows) > MAX_ROWS:
        groups = _joined(groups, MAX_ROWS - len(rows))
    for (stage, group), ranks in sorted(groups.items(), key=lambda item: min(item[1])):
        own[ranks] = len(rows)
        rows.append({"ranks": len(ranks), "rank": None, "stage": stage, "group": group})
    return own, rows


def _joined(groups: dict[tuple[Any, Any], list[int]], most: int) -> dict[tuple[Any, Any], list[int]]:
    """Merge the groups of a stage; also neighbouring stages, if there are more than `most`."""
    by_stage: dict[Any, list[int]] = defaultdict(list)
    for (stage, _), ranks in groups.items():
        by_stage[stage] += ranks
    if len(by_stage) <= max(most, 1):
        return {(stage, None): ranks for stage, ranks in by_stage.items()}
    order = sorted(by_stage, key=lambda stage: min(by_stage[stage]))
    each = -(-len(order) // max(most, 1))
    parts = [order[at : at + each] for at in range(0, len(order), each)]
    return {(part[0], None): [rank for stage in part for rank in by_stage[stage]] for part in parts}


def _time(start: Ints, end: Ints, row: NDArray[np.intp], phase: NDArray[np.int8], rows: int, edges: Floats) -> Floats:
    """Measure how long the ranks of a row were in each phase between consecutive edges, ns; float64[rows, phases, bins].

    The time up to an edge t is the sum of t - s over intervals that started at s before it, minus that of t - e over those that
    ended: counts and sums by bin suffice.
    """
    bins = len(edges) - 1
    width = edges[-1] / bins
    lane = row * len(PHASES) + phase
    upto = np.zeros((rows * len(PHASES), bins + 1))
    for times, sign in ((start, 1.0), (end, -1.0)):
        at = np.clip(times, 0, edges[-1])
        place = lane * bins + np.minimum((at / width).astype(np.int64), bins - 1)
        number = np.bincount(place, minlength=rows * len(PHASES) * bins).reshape(-1, bins)
        total = np.bincount(place, weights=at, minlength=rows * len(PHASES) * bins).reshape(-1, bins)
        upto[:, 1:] += sign * (np.cumsum(number, axis=1) * edges[1:] - np.cumsum(total, axis=1))
    out: Floats = np.maximum(np.diff(upto, axis=1), 0.0).reshape(rows, len(PHASES), bins)
    return out


def _bin(shares_: Floats) -> list[list[float]]:
    order = np.argsort(-shares_, kind="stable")
    return [[int(at), float(shares_[at])] for at in order.tolist() if shares_[at] >= 0.01]


def _placed(row: Json, found: JobDiagnosis, topology: Topology | None) -> Json:
    if row["rank"] is None:
        return row | {"endpoint": None, "host": None, "rail": None}
    endpoint = found.job.endpoints[row["rank"]]
    place = (topology.endpoints.get(endpoint) if topology else None) or NOWHERE
    return row | {"endpoint": endpoint, "host": place.host, "rail": place.rail}
