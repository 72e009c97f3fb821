"""Find spans of steps in which a rank's delays, a NIC's delays, or the steps themselves are longer than in other steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.explained_delay import Lost
from prism.graph import constants as g
from prism.graph.job_transfers import largest
from prism.graph.job_view import View
from prism.graph.new_delays import Delays
from prism.loops.arrays.change_points import held, shifts, spread, standing_out, unbroken
from prism.loops.detection.transfer_delays import Floats


@dataclass(frozen=True)
class SlowSpan:
    """Steps `start` to before `stop`, and their deviation in robust standard deviations."""

    start: int
    stop: int
    score: float


def slow_spans(view: View, delays: Delays, gone: Lost, among: NDArray[np.bool_]) -> list[SlowSpan]:
    """Find all spans `among` some steps, the clearest first."""
    usual = float(np.median(view.durations[delays.model]))
    out = []
    steps = np.where(view.comparable, delays.more / usual, np.nan)[None]
    for rows in (*_by_rank(view, delays, gone, usual), steps):
        out += _lasting(np.where(among & np.isfinite(view.durations), rows, np.nan), view.least)
    return sorted(out, key=lambda one: -one.score)


def _by_rank(view: View, delays: Delays, gone: Lost, usual: float) -> tuple[Floats, Floats]:
    """Longest delays of each rank in each step that its work, or its NIC, may have caused, as shares of a usual step."""
    ends, n = delays.transfers.lanes.T, len(view.job.endpoints)
    works = (largest(own / usual, end, n) for end, own in zip(ends, (gone.sender, gone.receiver), strict=True))
    return np.maximum(*works), np.maximum(*(largest(gone.within / usual, end, n) for end in ends))


def _lasting(rows: Floats, least: int) -> list[SlowSpan]:
    """Find spans in which rows deviate for most steps: `least` of them, or the last ones, which may go on."""
    least, whole_span = min(least, g.FEW), least
    sigma = min(spread(rows), spread(np.diff(rows)) / float(np.sqrt(2)))  # steps may be slow half of the time
    out = list[SlowSpan]()
    for row, noise in standing_out(rows, sigma, least=least, height=c.MIN_LOSS, score=c.SIGMAS).items():
        for whole in shifts(rows[row], noise, least=least, height=c.MIN_LOSS, score=c.SIGMAS):
            lasts = held(rows[row], whole, whole.height / 2) >= c.ALWAYS
            for one in [whole] if lasts else unbroken(rows[row], whole, noise, least=least):
                known = np.isfinite(rows[row, one.start : one.stop])
                enough = known.sum() >= least and 2 * known.sum() > len(known) and one.score >= c.SIGMAS
                if enough and (one.stop - one.start >= whole_span or one.stop == rows.shape[1]):
                    out.append(SlowSpan(max(one.start, 1), one.stop, one.score))
    return out
