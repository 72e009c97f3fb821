"""How many steps a job took, where not every stream tells: by how often its pipelines run empty, by what else moves between two
reductions, by what other reductions show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.kernels.edges import Edge, edge_from
from prism.kernels.handover import handover
from prism.kernels.intervals import Ints
from prism.kernels.levels import AS_OFTEN
from prism.kernels.ordered import ascending, in_order
from prism.kernels.rhythm import FOREVER, NONE, Rhythm, choices, rhythm
from prism.model import Parallelism, Stream

Rows = NDArray[np.intp]
FEW = 6  # steps; so few may be groups of steps


def drained(flows: Flows, parallelism: Parallelism, start: Ints) -> Rhythm:
    """Steps of a pipeline: its first stage's pair runs empty once a step; `NONE` where none are seen."""
    rows = {s.members: s.rows for s in parallelism.streams if s.kind == "pp"}
    for (src, dst), there in rows.items():
        back = rows.get((dst, src))
        if parallelism.stages.get(src) != 0 or parallelism.stages.get(dst) != 1 or back is None:
            continue
        found = handover(_edge(flows, there, start), _edge(flows, back, start))
        if found is not None and len(found.first.empty) >= 3:
            begun = np.sort(start[there])
            after = np.append(begun, FOREVER)[np.searchsorted(begun, found.first.empty, "right")]
            return Rhythm(np.stack([found.first.empty, after], axis=1), 0, 1.0)
    return NONE


def counted_steps(flows: Flows, streams: Sequence[Stream], start: Ints, times: int, *, share: float = 0.9) -> int:
    """How often pipelines ran empty, if the heaviest reduction shows so many steps with work handed on in `share` of them.

    Else how often it reduces with as much of all else between: chunks of a schedule run empty too, and a reduction has parts,
    but nothing is handed on between those. 0 where neither is known.
    """
    if not times or not _ran_empty(flows, streams, start, times, share):
        return _with_all_else(flows, streams, start, share)
    return times


def _with_all_else(flows: Flows, streams: Sequence[Stream], start: Ints, share: float) -> int:
    """How many steps the heaviest reduction has, the most of those that it may: in each, as much else is moved.

    Between the parts of one step it is not, for forward passes come before the first. 0 where nothing else is moved.
    """
    others = [s.rows for s in streams if s.kind != "dp"]
    if not others:
        return 0
    rows = np.concatenate(others)
    own = stream_of(flows, start, next(s.rows for s in streams if s.kind == "dp"))
    for found in choices(*own):
        ends = found.quiet[:, 0]
        moved = np.bincount(np.searchsorted(ends, start[rows]), flows.octets[rows], len(ends) + 1)[1 : len(ends)]
        usual = float(np.median(moved)) if len(moved) else 0.0
        alike = usual > 0 and np.mean(np.abs(moved - usual) <= (1 - share) * usual) >= share
        if alike and np.minimum(moved, usual).sum() >= share * moved.sum():
            return len(ends)
    return 0


def _ran_empty(flows: Flows, streams: Sequence[Stream], start: Ints, times: int, share: float) -> bool:
    """Whether the heaviest reduction shows as many steps as pipelines ran empty, with work handed on in `share` of them."""
    found = rhythm_of(flows, start, next(s.rows for s in streams if s.kind == "dp"), 0.02, True, times)
    if len(found.quiet) < 3 or abs(len(found.quiet) - times) > AS_OFTEN * times:
        return False
    rows = np.concatenate([s.rows for s in streams if s.kind == "pp"])
    n = len(found.quiet)
    handed = np.bincount(np.searchsorted(found.quiet[:, 0], start[rows]), flows.octets[rows], n + 1)[1:n]
    return bool(np.mean(handed >= np.median(handed) / 2) >= share and np.median(handed) > 0)


def in_groups_too(
    flows: Flows,
    start: Ints,
    voices: Sequence[tuple[Stream, Rows]],
    heard: list[tuple[bool, Rhythm]],
    tolerance: float,
) -> list[tuple[bool, Rhythm]]:
    """What is heard, of reductions that only show a few groups of steps as often as others show steps, if they may; else none.

    Half of the reductions must show so many steps, or a third that they come in groups.
    """
    told = [r for reduces, r in heard if reduces and len(r.quiet)]
    for sure, share in (([r for r in told if r.grouped and len(r.quiet) >= FEW], 3), (told, 2)):
        n = round(float(np.median([len(r.quiet) for r in sure]))) if sure else 0
        if n and share * sum(abs(len(r.quiet) - n) <= AS_OFTEN * n for r in sure) >= len(told):
            break
    else:
        return heard
    out = []
    for (reduces, r), (_, rows) in zip(heard, voices, strict=True):
        if reduces and len(r.quiet) < FEW and 0 < 3 * len(r.quiet) <= n:
            finer = rhythm_of(flows, start, rows, tolerance, True, n)
            out.append((True, finer) if abs(len(finer.quiet) - n) <= AS_OFTEN * n else (False, NONE))
        else:
            out.append((reduces, r))
    return out


def _edge(flows: Flows, rows: Rows, start: Ints) -> Edge:
    rows = rows[in_order(start[rows])]
    key = int(flows.src[rows[0]]), int(flows.dst[rows[0]])
    return edge_from(key, rows, start[rows], flows.end_ns[rows], flows.octets[rows])


def rhythm_of(flows: Flows, start: Ints, rows: Rows, tolerance: float, reduces: bool, often: int = 0) -> Rhythm:
    """The rhythm of some records; those that reduce gradients may pause, and do so as `often` as pipelines run empty."""
    return rhythm(*stream_of(flows, start, rows), tolerance=tolerance, pauses=reduces, often=often if reduces else 0)


def stream_of(flows: Flows, start: Ints, rows: Rows) -> tuple[Ints, Ints, Ints]:
    """Start, end and octets of a stream's records, in order of start."""
    begun = start.take(rows)
    if not ascending(begun):
        order = in_order(begun)
        rows, begun = rows.take(order), begun.take(order)
    return begun, flows.end_ns.take(rows), flows.octets.take(rows)
