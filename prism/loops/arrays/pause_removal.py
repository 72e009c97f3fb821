"""Time without pauses: what a job does is the same whether it hung, evaluated or was restarted in between."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Flows
from prism.loops.arrays.edges import Rows, sending
from prism.loops.arrays.intervals import Ints, union

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Clock:
    """A clock that runs slowly in pauses: `knots` are times, ns since `zero`, and `behind` how far it is behind at each, ns."""

    zero: int
    knots: Floats
    behind: Floats

    def told(self, times: Ints) -> Ints:
        """What the clock shows at some times, ns."""
        if not len(self.knots):
            return times
        return times - np.rint(np.interp(times - self.zero, self.knots, self.behind)).astype(np.int64)

    def back(self, shown: Ints) -> Ints:
        """The times at which the clock shows this, ns."""
        if not len(self.knots):
            return shown
        return shown + np.rint(np.interp(shown - self.zero, self.knots - self.behind, self.behind)).astype(np.int64)

    def on(self, flows: Flows) -> Flows:
        """The same records, in the same order, by this clock."""
        return replace(flows, start_ns=self.told(flows.start_ns), end_ns=self.told(flows.end_ns)) if len(self.knots) else flows


def without_pauses(flows: Flows, rows: Rows, *, times: float = 2.5, few: int = 2) -> Clock:
    """The clock by which no silence of `rows` is longer than `times` the longest but `few` of them.

    What comes once or twice in all that was seen is no part of the work that is done over and over.
    """
    begin, end = union(sending(flows)[rows], flows.end_ns[rows])
    gap = begin[1:] - end[:-1]
    most = times * float(np.sort(gap)[-few - 1]) if len(gap) > few else np.inf
    long = np.flatnonzero(gap > most)
    if not len(long):
        return Clock(0, np.zeros(0), np.zeros(0))
    cut = np.cumsum(np.floor(gap[long] - most))  # whole, so that the way back is exact
    knots = np.stack([end[long], begin[long + 1]], axis=1).ravel() - begin[0]
    behind = np.stack([np.concatenate([[0.0], cut[:-1]]), cut], axis=1).ravel()
    return Clock(int(begin[0]), knots.astype(np.float64), behind)
