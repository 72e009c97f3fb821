"""Find the repetition of a job's traffic: a place of each step on the traffic clock."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism.steps import constants as c
from prism.steps._step_operations import after_layers, step_of_passes
from prism.steps._step_program import Period, period_of, whole_step
from prism.steps._step_tracking import sharpened, tracked
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
    """Find the steps of sequences; None if nothing repeats three times.

    Small sequences show where steps end, unless they come when they like, as do requests between libraries over TCP, or once
    in several steps, as do values that are logged: then payload alone repeats better, or after less.
    """
    picked = chosen(sequences)
    found = _repetition(sequences, picked) if len(picked) else None
    large = picked[~sequences.small[picked]]
    if len(large) in (0, len(picked)) or (sequences.bursts and found is not None and found.regular >= c.NEAR_BEST):
        return found
    apart = _repetition(sequences, large)
    if apart is None or found is None or sequences.bursts:
        return apart if apart is not None and (found is None or found.regular < c.NEAR_BEST * apart.regular) else found
    shorter = apart.regular > found.regular and apart.step < (1 - c.STRETCH) * found.step
    return apart if shorter else found


def _repetition(sequences: Sequences, picked: Ints) -> Examined | None:
    """Find the steps that the `picked` sequences show; None if they do not repeat three times."""
    clock = clock_of(sequences, picked)
    period = period_of(clock)
    if period is None:
        return None
    period = whole_step(clock, period)
    few = clock.parts < c.GROUPS * period.bins  # evaluations are few
    passes = step_of_passes(clock, period.bins / (1 + c.STRETCH)) if few else None
    evaluated = None if passes is None else _placed(sequences, picked, clock, replace(period, bins=passes))
    if evaluated is not None and after_layers(evaluated.mean.classes()).any():
        return evaluated
    return _placed(sequences, picked, clock, period)


def _placed(sequences: Sequences, picked: Ints, clock: Clock, period: Period) -> Examined | None:
    """Find a place of each step on the clock; None if there are not three."""
    places = tracked(clock, period)
    places = sharpened(places, period.pace) if len(places) > 1 else places
    if len(places) < c.LEAST_PLACES:
        return None
    return Examined(clock, period.regular, places, folded(clock, places, sequences, picked), sequences.origin)
