"""Find the steps of a job for evidence: their period, and where each begins.

No labels are known yet, also not which operations reduce gradients. So a bound may lie elsewhere than at the end of the step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.evidence.streams import Streams
from prism.loops.arrays.group_sums import by_group
from prism.steps import step_bounds as bounds
from prism.steps.constants import ONE_SIZE, ONE_VOLUME
from prism.steps.examined_traffic import Examined
from prism.steps.record_sequences import Sequences, classes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a job.

    `bounds`: begin of each step, ns. `period`: ns. `count`: periods in the traffic. `regular`: how well the traffic repeats, 0
    ... 1. `examined`: the repetition of the traffic.
    """

    bounds: Floats
    period: float
    count: float
    regular: float
    examined: Examined | None = None

    def places(self, times: Floats) -> Floats:
        """Convert times to steps since the first bound."""
        return np.interp(times, self.bounds, np.arange(len(self.bounds)))


def steps_of(streams: Streams) -> Steps | None:
    """Find the steps of streams of one job; None if nothing repeats."""
    sequences = sequences_of(streams)
    found = bounds.steps_of(sequences, counts=False)
    if found is None or not found.complete.any():
        return None
    times, period = _begun(found.times, sequences), float(np.median(np.diff(found.times)[found.complete]))
    # The first step began before its first message; the last step ends after its last message.
    times[0], times[-1] = min(times[0], times[1] - period), max(times[-1], times[-2] + period)
    return Steps(times + sequences.origin, period, found.count, found.regular, found.examined)


def _begun(bounds: Floats, sequences: Sequences) -> Floats:
    """Move bounds to the start of the next message, so that an operation has the same position in each step."""
    start = sequences.start[sequences.in_time]
    after = np.searchsorted(start, bounds)
    begun = start[np.minimum(after, len(start) - 1)]
    return np.where((after < len(start)) & (begun < np.append(bounds[1:], np.inf)), begun, bounds).astype(np.float64)


def sequences_of(streams: Streams) -> Sequences:
    """Convert streams to sequences of a job; times in ns. Messages of one class between two endpoints are one sequence."""
    count = np.diff(streams.begins)
    bursts = bool(2 * count[[s.bursts for s in streams]].sum() > count.sum())
    varied = [s.octets for s in streams if not (bursts or s.equal)]  # sizes of experts' messages: one class
    sizes = np.concatenate([[s.volume if bursts else s.size for s in streams], *varied])
    kinds = classes(sizes, ONE_VOLUME if bursts else ONE_SIZE)[: len(streams)]
    keys = [(*s.pair, kind, i * bursts) for i, (s, kind) in enumerate(zip(streams, kinds.tolist(), strict=True))]
    number = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    of = np.repeat([number[key] for key in keys], count)
    rows, start, end, octets = streams.records
    if len(number) < len(keys):
        order = by_group(of, len(number), start.astype(np.int64))[0]
        of, rows, start, end, octets = of[order], rows[order], start[order], end[order], octets[order]
    begins = np.searchsorted(of, np.arange(len(number) + 1))
    src, dst, kind = np.array(list(number), np.int64).T[:3]
    none = np.zeros(len(number), np.bool_)
    weight = octets if bursts else np.ones(len(octets))
    origin = min(int(start.min(initial=0)), 0)  # a message may begin before the window and end in it
    began, ended = start.astype(np.int64) - origin, end.astype(np.int64) - origin
    return Sequences(rows, of, begins, began, ended, weight, octets, src, dst, kind, none, bursts, none, False, origin)
