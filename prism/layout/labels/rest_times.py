"""How long collectives rest: gradients are reduced once per step, what layers need is moved all through it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Flows
from prism.loops.arrays.edges import Rows, sending
from prism.loops.arrays.medians import ascending, in_order
from prism.loops.communicators.pair_lockstep import Collective
from prism.loops.periods.stream_rhythm import Rhythm, rhythm


def steps_of(flows: Flows, rows: Rows) -> Rhythm:
    """The rhythm of some records of `flows`, in any order."""
    start = sending(flows).take(rows)
    if not ascending(start):
        order = in_order(start)
        rows, start = rows.take(order), start.take(order)
    return rhythm(start, flows.end_ns.take(rows), flows.octets.take(rows), pauses=True)


def beat_of(flows: Flows, own: Sequence[Collective]) -> Rhythm:
    """The rhythm of some collectives together; of one alone it is told once."""
    if len(own) > 1:
        return steps_of(flows, np.concatenate([one.rows for one in own]))
    (one,) = own
    if not one.told:
        one.told.append(steps_of(flows, one.rows))
    return one.told[0]


def step_of(beats: list[Rhythm], *, few: int = 6) -> float:
    """How long a step is, ns: what the slowest of some rhythms show, but for those that may show groups of steps, so `few`."""
    sure = [beat.period_ns for beat in beats if len(beat.quiet) >= few]
    return max(sure or [beat.period_ns for beat in beats], default=0.0)


def rest_of(beat: Rhythm, step: float) -> float:
    """For which share of a step a rhythm rests; that of parts of a step rests for less of it."""
    return beat.rest * min(beat.period_ns / step, 1.0) if step > 0 else 0.0


def goes_with(
    flows: Flows,
    inner: list[Collective],
    around: list[Collective],
    calm: float,
    step: float,
    *,
    most: float = 0.8,
    kept: float = 0.6,
) -> bool:
    """Whether some collectives move when a reduction does: `most` of their octets, and together they rest nearly as long."""
    return _follows(flows, inner, around) >= most and rest_of(beat_of(flows, [*inner, *around]), step) >= kept * calm


def _follows(flows: Flows, inner: list[Collective], around: list[Collective], *, pause: float = 0.1) -> float:
    """Share of the octets of some collectives that moved while others did or after them without a `pause` (a share of the time
    for which those rest).
    """
    quiet = beat_of(flows, around).quiet
    rows = np.concatenate([one.rows for one in inner])
    start = sending(flows)[rows]
    order = in_order(start)
    rows, start, end = rows[order], start[order], flows.end_ns[rows[order]]
    if len(quiet) < 2:
        return 0.0
    place = np.searchsorted(quiet[:-1, 0], start, "right") - 1
    resting = (place >= 0) & (start < quiet[np.maximum(place, 0), 1])
    place = np.maximum(place, 0)
    before = np.concatenate([[0], np.maximum.accumulate(end)[:-1]])
    silence = start - np.maximum(before, quiet[place, 0])
    late = resting & (silence > pause * (quiet[place, 1] - quiet[place, 0]))
    first = np.full(len(quiet), np.iinfo(np.int64).max)
    np.minimum.at(first, place[late], start[late])
    after = resting & (start >= first[place])
    return 1 - float(flows.octets[rows][after].sum()) / max(float(flows.octets[rows].sum()), 1.0)
