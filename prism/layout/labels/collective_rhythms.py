"""Measure how long collectives are idle in a step: gradient reductions run once per step, layers' collectives throughout."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.layout import constants as c
from prism.loops.arrays.edges import Rows, sending
from prism.loops.arrays.medians import ascending, in_order
from prism.loops.communicators.pair_lockstep import Collective
from prism.loops.periods.stream_rhythm import Rhythm, rhythm


def rhythm_of_rows(flows: Flows, rows: Rows) -> Rhythm:
    """Compute the rhythm of some records of `flows`, in any order."""
    start = sending(flows).take(rows)
    if not ascending(start):
        order = in_order(start)
        rows, start = rows.take(order), start.take(order)
    return rhythm(start, flows.end_ns.take(rows), flows.octets.take(rows), pauses=True)


def rhythm_of(flows: Flows, own: Sequence[Collective]) -> Rhythm:
    """Compute the rhythm of some collectives together. The rhythm of a single collective is cached in it."""
    if len(own) > 1:
        return rhythm_of_rows(flows, np.concatenate([one.rows for one in own]))
    (one,) = own
    if not one.told:
        one.told.append(rhythm_of_rows(flows, one.rows))
    return one.told[0]


def step_duration(rhythms: list[Rhythm], *, min_steps: int = c.PERIODIC_STEPS) -> float:
    """Estimate the step duration, ns: the longest period with at least `min_steps` pauses; shorter series may show several
    steps.
    """
    sure = [observed.period_ns for observed in rhythms if len(observed.quiet) >= min_steps]
    return max(sure or [observed.period_ns for observed in rhythms], default=0.0)


def idle_share(observed: Rhythm, step: float) -> float:
    """Idle share of a step; a rhythm of sub-steps counts in proportion to its period."""
    return observed.rest * min(observed.period_ns / step, 1.0) if step > 0 else 0.0


def moves_with(
    flows: Flows,
    inner: list[Collective],
    around: list[Collective],
    idle: float,
    step: float,
    *,
    min_share: float = c.MOVES_WITH,
    min_ratio: float = c.AS_IDLE,
) -> bool:
    """Check whether collectives move at the times of a reduction: `min_share` of their octets, and together nearly as idle."""
    return (
        _follows(flows, inner, around) >= min_share
        and idle_share(rhythm_of(flows, [*inner, *around]), step) >= min_ratio * idle
    )


def _follows(flows: Flows, inner: list[Collective], around: list[Collective], *, gap: float = c.GAP_AFTER) -> float:
    """Share of the octets of some collectives that moved during others' activity, or after it without a gap.

    `gap` is the minimum gap, as a share of the idle time in which it lies.
    """
    quiet = rhythm_of(flows, around).quiet
    rows = np.concatenate([one.rows for one in inner])
    start = sending(flows)[rows]
    order = in_order(start)
    rows, start, end = rows[order], start[order], flows.end_ns[rows[order]]
    if len(quiet) < 2:
        return 0.0
    index = np.searchsorted(quiet[:-1, 0], start, "right") - 1
    in_idle = (index >= 0) & (start < quiet[np.maximum(index, 0), 1])
    index = np.maximum(index, 0)
    before = np.concatenate([[0], np.maximum.accumulate(end)[:-1]])
    silence = start - np.maximum(before, quiet[index, 0])
    late = in_idle & (silence > gap * (quiet[index, 1] - quiet[index, 0]))
    first = np.full(len(quiet), np.iinfo(np.int64).max)
    np.minimum.at(first, index[late], start[late])
    after = in_idle & (start >= first[index])
    return 1 - float(flows.octets[rows][after].sum()) / max(float(flows.octets[rows].sum()), 1.0)
