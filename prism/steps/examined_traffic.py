"""Find the repetition of a job's traffic: a place of each step on the traffic clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism.steps import constants as c
from prism.steps._step_program import Period, period_of
from prism.steps._step_tracking import grouped, settled, tracked
from prism.steps.record_sequences import Ints, Sequences, chosen
from prism.steps.step_ends import Mean, folded
from prism.steps.traffic_clock import Clock, clock_of


@dataclass(frozen=True, eq=False)
class Examined:
    """Traffic that repeats: its clock, how well it repeats, a place of each step on the clock, in bins, and the mean step.

    Times of the clock count from `origin`, ns.
    """

    clock: Clock
    regular: float
    places: Ints
    mean: Mean
    origin: int

    @property
    def step(self) -> float:
        """Usual distance of places, in bins."""
        return float(np.median(np.diff(self.places)))

    def covers(self, sequences: Sequences) -> bool:
        """Check whether the clock counts all the time of the sequences, but for a step or two."""
        times = self.clock.edges + (self.origin - sequences.origin)
        usual = float(np.median(np.diff(self.clock.times(self.places))))
        return float(max(times[0], 0) + max(sequences.life - times[-1], 0)) <= c.SILENT * usual


def repetition_of(sequences: Sequences) -> Examined | None:
    """Find the steps of the sequences whose traffic repeats best; None if nothing repeats three times.

    If the traffic of all classes hardly repeats, classes of one size may repeat better: the work of experts varies.
    """
    best: tuple[Clock, Period, Ints] | None = None
    examined = np.zeros(0, np.int64)
    for of_one_size in (False, True):
        picked = chosen(sequences, of_one_size=of_one_size)
        if len(picked) and not np.array_equal(picked, examined):
            clock = clock_of(sequences, picked)
            period = period_of(clock)
            if period is not None and (best is None or period.regular > best[1].regular):
                best = clock, period, picked
        if best is not None and best[1].regular >= c.NEAR_BEST:
            break
        examined = picked
    if best is None:
        return None
    clock, period, picked = best
    places = grouped(tracked(clock, period), clock)
    if clock.bursts:
        places = settled(places, clock, float(np.median(np.diff(places))) if len(places) > 2 else period.bins)
    if len(places) < c.LEAST_PLACES:
        return None
    return Examined(clock, period.regular, places, folded(clock, places, sequences, picked), sequences.origin)
