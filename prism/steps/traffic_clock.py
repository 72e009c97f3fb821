"""Build the traffic clock: it advances with the traffic of a job, not with time.

All steps of a job have the same length on it, also if the job paused, was slow or hung in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Sequences


@dataclass(frozen=True, eq=False)
class Clock:
    """`edges`: time, ns, at which each of `BINS` equal parts of the traffic begins, and the end; float64[BINS + 1].

    `density`: traffic of each sequence in each part, relative to its mean; float64[sequences, BINS]. `pace`: logarithm of the
    duration of each part; high while the job is idle.
    """

    edges: Floats
    density: Floats
    pace: Floats
    kind: Ints  # class of each sequence
    bursts: bool = False
    records: int = c.UNLIMITED  # in the largest sequence

    @property
    def spent(self) -> Floats:
        """Duration of each part of the traffic, ns."""
        return np.diff(self.edges)

    def with_power(self, power: float) -> Clock:
        """Return the clock with another pace: the duration of each part relative to the mean, to a power, which emphasizes idle
        times.

        Idle times are limited to that of the `LONGEST`-longest part, so that a hang or two do not hide the others.
        """
        spent = np.minimum(self.spent, np.sort(self.spent)[-c.LONGEST])
        return replace(self, pace=np.log1p(spent / spent.mean()) ** power)


def clock_of(sequences: Sequences, picked: Ints) -> Clock:
    """Build the clock of some sequences. Connections are weighted by duration, messages by the root of their number."""
    even = sequences.life / c.BINS
    if sequences.bursts:
        grid, shares = _bursts(sequences, picked)
        edges = np.interp(np.arange(c.BINS + 1) / c.BINS, _lifetimes(sequences, picked) @ shares, grid)
        # In bursts, a gap of less than 1 % of a bin is not idle.
        density, pace = np.diff(_interpolated(edges, grid, shares)) * c.BINS, np.log(np.diff(edges) + even / 100)
    else:
        grid, progress = _messages(sequences, picked)
        edges, density = np.interp(np.arange(c.BINS + 1) / c.BINS, progress, grid), _counted(sequences, picked)
        spent = np.diff(edges)
        common = np.minimum(spent, np.sort(spent)[-c.LONGEST])  # a hang or two do not hide the other idle times
        pace = np.log1p(common / even) ** 2
    return Clock(edges, density, pace, sequences.kind[picked], sequences.bursts, int(sequences.count[picked].max()))


def _interpolated(at: Floats, grid: Floats, values: Floats) -> Floats:
    """Interpolate each row of values, given on a grid; as `numpy.interp`, but places are found once for all rows."""
    place = np.clip(np.searchsorted(grid, at, "right") - 1, 0, max(len(grid) - 2, 0))
    slopes = np.diff(values) / np.diff(grid)
    inside = np.clip(at, grid[0], grid[-1]) - grid[place]
    return np.asarray(slopes.take(place, axis=1) * inside + values.take(place, axis=1))


def _messages(sequences: Sequences, picked: Ints) -> tuple[Floats, Floats]:
    """Times at which messages end, and the clock before and after each: it jumps there and is constant in between."""
    at, share, of = _ended(sequences, picked)
    progress = np.cumsum(share * _weight(sequences, picked)[of])
    return np.repeat(at, 2), np.stack([np.append(0.0, progress[:-1]), progress], axis=1).ravel()


def _lifetimes(sequences: Sequences, picked: Ints) -> Floats:
    """Weight of each connection: its duration. A restarted job opens new connections."""
    own = [sequences.records(v) for v in picked.tolist()]
    lasts = np.array([sequences.end[one].max() - sequences.start[one.start] for one in own], np.float64)
    return np.asarray(lasts / max(lasts.sum(), 1.0))


def _weight(sequences: Sequences, picked: Ints) -> Floats:
    """Weight of each sequence: the root of its number of messages; few messages show progress less evenly."""
    weight = np.sqrt(sequences.count[picked])
    return np.asarray(weight / weight.sum())


def _ended(sequences: Sequences, picked: Ints) -> tuple[Floats, Floats, Ints]:
    """Times at which messages of some sequences end, ns, ascending; their share of the sequence; index of the sequence."""
    parts = [sequences.records(v) for v in picked.tolist()]
    at = np.concatenate([sequences.end[own] for own in parts]).astype(np.float64)
    share = np.concatenate([sequences.weight[own] / sequences.weight[own].sum() for own in parts])
    of = np.repeat(np.arange(len(picked)), [own.stop - own.start for own in parts])
    order = np.argsort(at, kind="stable")
    return at[order], share[order], of[order]


def _counted(sequences: Sequences, picked: Ints) -> Floats:
    """Traffic of each sequence in each part of the clock, relative to its mean."""
    _, share, of = _ended(sequences, picked)
    share_of_clock = share * _weight(sequences, picked)[of]
    progress = np.cumsum(share_of_clock) - share_of_clock / 2
    place = of * c.BINS + np.minimum((progress * c.BINS).astype(np.int64), c.BINS - 1)
    moved: Floats = np.bincount(place, share * c.BINS, len(picked) * c.BINS).astype(np.float64)
    return moved.reshape(len(picked), c.BINS)


def _bursts(sequences: Sequences, picked: Ints) -> tuple[Floats, Floats]:
    """Times at which bursts begin or end, and the share of each sequence moved by then; bursts move at a constant rate.

    float64[times] and float64[sequences, times].
    """
    knots, moved = [], []
    for v in picked.tolist():
        own = sequences.records(v)
        begin, end = sequences.start[own], np.maximum(sequences.end[own], sequences.start[own] + 1)
        rate = sequences.weight[own] / sequences.weight[own].sum() / (end - begin)
        at = np.concatenate([begin, end])
        order = np.argsort(at, kind="stable")
        at = at[order].astype(np.float64)
        level = np.cumsum(np.concatenate([rate, -rate])[order])
        knots.append(at)
        moved.append(np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(at))]))
    grid = np.unique(np.concatenate(knots))
    return grid, np.stack([np.interp(grid, at, own) for at, own in zip(knots, moved, strict=True)])
