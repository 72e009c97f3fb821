"""Build the traffic clock: it advances with the traffic of a job, not with time.

All steps of a job have the same length on it, also if the job paused, was slow or hung in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.loops.arrays.orders import in_order
from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Sequences


@dataclass(frozen=True, eq=False)
class Clock:
    """`edges`: time, ns, at which each of `parts` equal parts of the traffic begins, and the end; float64[parts + 1].

    `density`: mean traffic of the sequences of each class and direction in each part, relative to its mean; float64[classes,
    parts].
    """

    edges: Floats
    density: Floats
    bursts: bool
    records: int  # in the largest sequence

    @property
    def parts(self) -> int:
        """Number of parts of the traffic."""
        return len(self.edges) - 1

    def times(self, places: NDArray[Any] | float) -> Floats:
        """Convert places on the clock, in parts, to times, ns."""
        return np.asarray(np.interp(places, np.arange(len(self.edges)), self.edges))

    def places(self, times: NDArray[Any]) -> Floats:
        """Convert times, ns, to places on the clock, in parts."""
        return np.asarray(np.interp(times, self.edges, np.arange(len(self.edges))))

    @cached_property
    def spent(self) -> Floats:
        """Duration of each part of the traffic, ns."""
        return np.diff(self.edges)

    def pace(self, power: float) -> Floats:
        """Logarithm of the duration of each part relative to the mean, to a power, which emphasizes idle times.

        Idle times are limited to that of the `LONGEST`-longest part, so that a hang or two do not hide the others.
        """
        spent = np.minimum(self.spent, np.partition(self.spent, -c.LONGEST)[-c.LONGEST])
        return np.asarray(np.log1p(spent / max(float(spent.mean()), 1.0)) ** power)

    def after(self, share: float) -> Clock:
        """Return the clock without the first share of its parts."""
        first = round(share * self.parts)
        return replace(self, edges=self.edges[first:], density=self.density[:, first:])

    def later(self, by_ns: int) -> Clock:
        """Return the same clock with other times: later by some ns."""
        return replace(self, edges=self.edges + by_ns)


def clock_of(sequences: Sequences, picked: Ints) -> Clock:
    """Build the clock of some sequences. Connections are weighted by duration, messages by the root of their number."""
    records = int(sequences.count[picked].max())
    parts = int(2 ** np.ceil(np.log2(np.clip(c.BURST_BINS * records, c.LEAST_BINS, c.BINS)))) if sequences.bursts else c.BINS
    down = sequences.src[picked] < sequences.dst[picked]  # a pipeline's forward passes, else its backward passes
    own = np.unique(2 * sequences.kind[picked] + down, return_inverse=True)[1]
    edges, density = (_bursts if sequences.bursts else _messages)(sequences, picked, own, parts)
    density *= parts / np.bincount(own)[:, None]
    return Clock(edges, density, sequences.bursts, records)


def records_of(sequences: Sequences, picked: Ints) -> tuple[NDArray[np.intp], Ints, Floats]:
    """Records of the picked sequences, by sequence; the place of each one's sequence in `picked`; its share of the sequence."""
    at = np.full(len(sequences), -1)
    at[picked] = np.arange(len(picked))
    rows = np.flatnonzero(at.take(sequences.of) >= 0)
    of, weight = at.take(sequences.of.take(rows)), sequences.weight.take(rows)
    return rows, of, weight / np.bincount(of, weight).take(of)


def ended(sequences: Sequences, picked: Ints) -> tuple[Floats, Ints, Floats, Floats]:
    """For each message, as it ends: time, the place of its sequence in `picked`, its share of that, its share of the clock.

    The weight of a sequence is the root of its number of messages; few messages show progress less evenly.
    """
    rows, of, share = records_of(sequences, picked)
    at = sequences.end[rows]
    order = in_order(at)
    weight = np.sqrt(sequences.count[picked])
    of, share = of[order], share[order]
    return at[order].astype(np.float64), of, share, share * (weight / weight.sum())[of]


def _messages(sequences: Sequences, picked: Ints, own: Ints, parts: int) -> tuple[Floats, Floats]:
    """Times of the edges, and share of each class's traffic between them. The clock jumps at the end of each message."""
    at, of, share, moved = ended(sequences, picked)
    progress = np.cumsum(moved)
    jumps = np.stack([np.append(0.0, progress[:-1]), progress], axis=1).ravel()
    edges = np.interp(np.arange(parts + 1) / parts, jumps, np.repeat(at, 2))
    place = np.minimum(((progress - moved / 2) * parts).astype(np.int64), parts - 1)
    density = np.bincount(own[of] * parts + place, share, (int(own.max()) + 1) * parts)
    return edges, np.asarray(density, np.float64).reshape(-1, parts)


def _bursts(sequences: Sequences, picked: Ints, own: Ints, parts: int) -> tuple[Floats, Floats]:
    """Times of the edges, and share of each class's traffic between them; bursts move at a constant rate.

    The weight of a connection is its duration: a restarted job opens new connections.
    """
    rows, of, share = records_of(sequences, picked)
    begin, end = sequences.start[rows], np.maximum(sequences.end[rows], sequences.start[rows] + 1)
    first = np.flatnonzero(np.diff(of, prepend=-1))
    lasts = (np.maximum.reduceat(end, first) - begin[first]).astype(np.float64)
    at = np.concatenate([begin, end])
    order = in_order(at)
    at, starts = at.take(order).astype(np.float64), order < len(begin)
    rate = share / (end - begin)
    change = np.concatenate([rate, -rate]).take(order)
    of = np.tile(of, 2).take(order)
    idle = np.cumsum(np.where(starts, 1, -1))[:-1] == 0  # else errors of rounding remain
    level = np.where(idle, 0.0, np.cumsum(change * (lasts / max(lasts.sum(), 1.0))[of])[:-1])
    progress = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(level * np.diff(at))]))
    edges = np.interp(np.arange(parts + 1) / parts, progress, at)
    density = []
    for number in range(int(own.max()) + 1):
        rows = np.flatnonzero(own[of] == number)
        moved = np.append(0.0, np.cumsum(np.cumsum(change[rows])[:-1] * np.diff(at[rows])))
        density.append(np.diff(np.interp(edges, at[rows], moved)))
    return edges, np.stack(density)
