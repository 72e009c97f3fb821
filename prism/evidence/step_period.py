"""Find the steps of a job for evidence: their period, and where each begins.

No labels are known yet, also not which operations reduce gradients. So a bound may lie elsewhere than at the end of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.evidence.streams import Stream
from prism.steps import step_bounds as bounds
from prism.steps.constants import ONE_SIZE, ONE_VOLUME
from prism.steps.examined_traffic import Examined
from prism.steps.record_sequences import Sequences, classes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a job.

    `bounds`: begin of each step, ns. `period`: ns. `count`: periods in the traffic. `regular`: how well the traffic repeats, 0
    ... 1. `examined`: the traffic in which they were found.
    """

    bounds: Floats
    period: float
    count: float
    regular: float
    examined: tuple[Examined, ...] = ()

    def places(self, times: Floats) -> Floats:
        """Convert times to steps since the first bound."""
        return np.interp(times, self.bounds, np.arange(len(self.bounds)))


def steps_of(streams: Sequence[Stream]) -> Steps | None:
    """Find the steps of streams of one job; None if nothing repeats."""
    sequences = sequences_of(streams)
    found = bounds.steps_of(sequences)
    if found is None or not found.complete.any():
        return None
    times, period = _begun(found.times, sequences), float(np.median(np.diff(found.times)[found.complete]))
    # The first step began before its first message; the last step ends after its last message.
    times[0], times[-1] = min(times[0], times[1] - period), max(times[-1], times[-2] + period)
    return Steps(times + sequences.origin, period, found.count, found.regular, (found.examined,))


def _begun(bounds: Floats, sequences: Sequences) -> Floats:
    """Move bounds to the start of the next message, so that an operation has the same position in each step."""
    start = sequences.start[sequences.in_time]
    after = np.searchsorted(start, bounds)
    begun = start[np.minimum(after, len(start) - 1)]
    return np.where((after < len(start)) & (begun < np.append(bounds[1:], np.inf)), begun, bounds).astype(np.float64)


def sequences_of(streams: Sequence[Stream]) -> Sequences:
    """Convert streams to sequences of a job; times in ns."""
    counts = [len(s.rows) for s in streams]
    of = np.repeat(np.arange(len(streams)), counts)
    octets = np.concatenate([s.octets for s in streams])
    bursts = 2 * sum(len(s.rows) for s in streams if s.bursts) > len(of)
    kind = classes(np.array([s.volume if bursts else s.size for s in streams]), ONE_VOLUME if bursts else ONE_SIZE)
    rows, start, end = (np.concatenate([getattr(s, n) for s in streams]).astype(np.int64) for n in ("rows", "start", "end"))
    src, dst = (np.array([s.pair[i] for s in streams], np.int64) for i in (0, 1))
    none = np.zeros(len(streams), np.bool_)
    weight = octets if bursts else np.ones(len(octets))
    begins = np.concatenate([[0], np.cumsum(counts)])
    origin = min(int(start.min(initial=0)), 0)  # a message may begin before the window and end in it
    start, end = start - origin, end - origin
    return Sequences(rows, of, begins, start, end, weight, octets, src, dst, kind, none, bursts, none, False, origin)
