"""Find own work that is longer again and again: in most pieces of a step.

Hiccups of other ranks may cost more time than a slow rank, but they do not recur.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism.diagnosis import constants as c
from prism.diagnosis.attribution.candidates import Candidate
from prism.diagnosis.attribution.explained_delay import Lost
from prism.graph.new_delays import Delays
from prism.loops.arrays.intervals import weighted_median
from prism.loops.detection.transfer_delays import Floats


def typical_delays(gone: Lost, delays: Delays, ranks: int) -> Floats:
    """Compute by how much the typical piece of each rank's own work is longer, times its usual own work, ns;
    float64[ranks, steps].

    A piece is a usual silence of `MIN_LOSS` of a step before a transfer. A rank that works slowly does so in most of its
    pieces; a hiccup, however long, is in one.
    """
    t = delays.transfers
    pieces = [np.flatnonzero((rested >= c.MIN_LOSS * delays.took) & (rested < np.inf)) for rested in delays.rested]
    cell = np.concatenate([who[own].astype(np.int64) for who, own in zip((t.src, t.dst), pieces, strict=True)])
    cell = cell * t.steps + np.concatenate([t.step[own] for own in pieces])
    usual = np.concatenate([rested[own] for rested, own in zip(delays.rested, pieces, strict=True)])
    ratio = np.concatenate([part[own] for part, own in zip(gone.each[1:], pieces, strict=True)]) / usual
    order = np.lexsort((ratio, cell))
    begins = np.searchsorted(cell[order], np.arange(ranks * t.steps + 1))
    many = np.diff(begins)
    out = np.zeros(ranks * t.steps)
    known = np.flatnonzero(many)
    whole = np.bincount(cell, usual, ranks * t.steps)
    out[known] = ratio[order][(begins[:-1] + (many - 1) // 2)[known]] * whole[known]
    return out.reshape(ranks, t.steps)


def work_ratio(delays: Delays, one: Candidate, during: NDArray[np.bool_]) -> float:
    """Compute how many times as long as its peers a candidate works before its transfers, at most, in most of some steps.

    Compared are the longest pieces of work that peers are seen to do: silences before transfers of a lane, down to half of the
    longest. Where peers wait for the end of a collective instead, they may have worked before. A small transfer may precede the
    end of the work: the longest delay until the next piece counts. Infinite if there is no piece.
    """
    t, late, new = delays.transfers, np.nan_to_num(delays.late[0]), np.nan_to_num(delays.new[0])
    ratios = list[float]()
    for own_end, lane in (*((0, lane) for lane in one.sends.tolist()), *((1, lane) for lane in one.receives.tolist())):
        own = np.flatnonzero((t.lane == lane) & during[t.step])
        at_end, at_other = delays.rested[own_end, own], delays.rested[1 - own_end, own]
        rested = np.where(np.isfinite(at_end), at_end, at_other)  # a rank that sends nothing visible shows no end of work
        rested[~np.isfinite(rested)] = 0.0
        piece = (rested > 0) & (2 * rested >= rested.max(initial=0.0))
        begins = np.flatnonzero(piece | (np.diff(t.step[own], prepend=-1) > 0))
        more = np.maximum.reduceat(late[own], begins) - late[own][begins] + new[own][begins]
        if piece.any():
            more, usual = more[piece[begins]], rested[piece]
            ratios.append(1 + max(weighted_median(more / usual, usual), 0.0))
    return max(ratios, default=np.inf)
