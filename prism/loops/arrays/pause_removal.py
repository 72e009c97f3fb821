"""Remove pauses from time: a job's work is the same whether it hung, evaluated or restarted in between."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.loops import constants as c
from prism.loops.arrays.edges import Rows, sending
from prism.loops.arrays.intervals import Ints, union

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clock:
    """A clock that runs slowly in pauses: `knots` are times, ns since `zero`; `behind` is its delay at each, ns."""

    zero: int
    knots: Floats
    behind: Floats

    def told(self, times: Ints) -> Ints:
        """Convert times to this clock, ns."""
        if not len(self.knots):
            return times
        return times - np.rint(np.interp(times - self.zero, self.knots, self.behind)).astype(np.int64)

    def back(self, shown: Ints) -> Ints:
        """Convert times of this clock back, ns."""
        if not len(self.knots):
            return shown
        return shown + np.rint(np.interp(shown - self.zero, self.knots - self.behind, self.behind)).astype(np.int64)

    def on(self, flows: Flows) -> Flows:
        """Convert records to this clock, in the same order."""
        return replace(flows, start_ns=self.told(flows.start_ns), end_ns=self.told(flows.end_ns)) if len(self.knots) else flows


def without_pauses(flows: Flows, rows: Rows, *, times: float = c.PAUSE, few: int = 2) -> Clock:
    """Build the clock in which no silence of `rows` exceeds `times` the longest silence, except for `few` of them.

    A silence that occurs once or twice in the whole observation is no part of periodic work.
    """
    begin, end = union(sending(flows)[rows], flows.end_ns[rows])
    gap = begin[1:] - end[:-1]
    most = times * float(np.sort(gap)[-few - 1]) if len(gap) > few else np.inf
    long = np.flatnonzero(gap > most)
    if not len(long):
        return Clock(0, np.zeros(0), np.zeros(0))
    cut = np.cumsum(np.floor(gap[long] - most))  # integers, so that the conversion back is exact
    knots = np.stack([end[long], begin[long + 1]], axis=1).ravel() - begin[0]
    behind = np.stack([np.concatenate([[0.0], cut[:-1]]), cut], axis=1).ravel()
    return Clock(int(begin[0]), knots.astype(np.float64), behind)
