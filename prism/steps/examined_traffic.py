"""Find the repetition of a job's traffic; reuse it if the same records were examined before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prism.steps import constants as c
from prism.steps._step_program import Period, found_on
from prism.steps._step_tracking import settled, tracked
from prism.steps.record_sequences import Ints, Sequences, chosen
from prism.steps.traffic_clock import Clock, clock_of


@dataclass(frozen=True, eq=False)
class Examined:
    """Traffic of some sequences of a job. Its clock, period and places of steps are computed once, at first use.

    The result depends on the records of the `picked` sequences, on their classes, and on the time of the job.
    """

    sequences: Sequences
    picked: Ints
    _settled: dict[bytes, Ints] = field(default_factory=dict)

    @cached_property
    def clock(self) -> Clock:
        """Clock of the picked sequences."""
        return clock_of(self.sequences, self.picked)

    @cached_property
    def _found(self) -> tuple[Clock, Period | None]:
        return found_on(self.clock)

    @property
    def period(self) -> Period | None:
        """Period of the traffic; None if nothing repeats."""
        return self._found[1]

    @property
    def regular(self) -> float:
        """How well the traffic repeats, 0 ... 1."""
        return self.period.regular if self.period is not None else 0.0

    @cached_property
    def places(self) -> Ints:
        """A place of each step on the clock, in bins; empty if nothing repeats."""
        shown, period = self._found
        return tracked(shown, period.bins) if period is not None else np.zeros(0, np.int64)

    def settled(self, places: Ints, bins: float) -> Ints:
        """Move places to the usual idle times near them (`_step_tracking.settled`)."""
        key = places.tobytes()
        if key not in self._settled:
            self._settled[key] = settled(places, self.clock, bins)
        return self._settled[key]

    def same(self, other: Examined) -> bool:
        """Check whether the other traffic has the same clock: equal records, classes and times from the first record."""
        one, two = self.sequences, other.sequences
        alike = one.bursts == two.bursts and one.life == two.life and len(self.picked) == len(other.picked)
        return alike and all(np.array_equal(a, b) for a, b in zip(self._columns, other._columns, strict=True))

    @cached_property
    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        """Return count and class of each sequence, and start, end and weight of each record."""
        own = self.sequences
        inside = np.zeros(len(own), np.bool_)
        inside[self.picked] = True
        records = inside[own.of]
        kind = np.unique(own.kind[self.picked], return_inverse=True)[1]
        return own.count[self.picked], kind, own.start[records], own.end[records], own.weight[records]


def repetition_of(sequences: Sequences, earlier: Sequence[Examined] = ()) -> Examined | None:
    """Find the sequences whose traffic repeats best; None if nothing repeats.

    If the traffic of all classes hardly repeats, classes of one size may repeat better: the work of experts varies. What was
    examined `earlier` is not computed again.
    """
    best, examined = None, np.zeros(0, np.int64)
    for of_one_size in (False, True):
        picked = chosen(sequences, of_one_size=of_one_size)
        if len(picked) and not np.array_equal(picked, examined):
            now = Examined(sequences, picked)
            now = next((one for one in earlier if now.same(one)), now)
            if now.period is not None and (best is None or now.regular > best.regular):
                best = now
        if best is not None and best.regular >= c.NEAR_BEST:
            break
        examined = picked
    return best
