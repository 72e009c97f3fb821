"""Compare the own work of a rank with that of its peers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prism.diagnosis.attribution.candidates import Candidate
from prism.graph.new_delays import Delays
from prism.loops.arrays.intervals import weighted_median


def work_ratio(delays: Delays, one: Candidate, during: NDArray[np.bool_]) -> float:
    """Compute how many times as long as its peers a candidate works before its transfers, at most, in most of some steps.

    Compared are the longest pieces of work that peers are seen to do: silences before transfers of a lane, down to half of the
    longest. Where peers wait for the end of a collective instead, they may have worked before. A small transfer may precede the
    end of the work: the longest delay until the next piece counts. Infinite if there is no piece.
    """
    t = delays.transfers
    ratios = list[float]()
    for own_end, lane in (*((0, lane) for lane in one.sends.tolist()), *((1, lane) for lane in one.receives.tolist())):
        own = np.flatnonzero((t.lane == lane) & during[t.step])
        late, new = np.nan_to_num(delays.late[0, own]), np.nan_to_num(delays.new[0, own])
        at_end, at_other = delays.rested[own_end, own], delays.rested[1 - own_end, own]
        rested = np.where(np.isfinite(at_end), at_end, at_other)  # a rank that sends nothing visible shows no end of work
        rested[~np.isfinite(rested)] = 0.0
        piece = (rested > 0) & (2 * rested >= rested.max(initial=0.0))
        begins = np.flatnonzero(piece | (np.diff(t.step[own], prepend=-1) > 0))
        more = np.maximum.reduceat(late, begins) - late[begins] + new[begins]
        if piece.any():
            more, usual = more[piece[begins]], rested[piece]
            ratios.append(1 + max(weighted_median(more / usual, usual), 0.0))
    return max(ratios, default=np.inf)
