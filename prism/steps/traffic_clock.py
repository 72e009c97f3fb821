"""Build the traffic clock: it advances with the traffic of a job, not with time.

All steps of a job have the same length on it, also if the job paused, was slow or hung in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences


@dataclass(frozen=True, eq=False)
class Clock:
    """`edges`: time, ns, at which each of `parts` equal parts of the traffic begins, and the end; float64[parts + 1].

    `density`: traffic of each sequence in each part, relative to its mean; float64[sequences, parts]. `pace`: logarithm of the
    duration of each part; high while the job is idle.
    """

    edges: Floats
    density: Floats
    pace: Floats
    kind: Ints  # class of each sequence
    bursts: bool = False
    records: int = c.UNLIMITED  # in the largest sequence

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

    def with_power(self, power: float) -> Clock:
        """Return the clock with another pace: the duration of each part relative to the mean, to a power, which emphasizes idle
        times.

        Idle times are limited to that of the `LONGEST`-longest part, so that a hang or two do not hide the others.
        """
        spent = np.minimum(self.spent, np.sort(self.spent)[-c.LONGEST])
        return replace(self, pace=np.log1p(spent / spent.mean()) ** power)


def clock_of(sequences: Sequences, picked: Ints) -> Clock:
    """Build the clock of some sequences. Connections are weighted by duration, messages by the root of their number."""
    records = int(sequences.count[picked].max())
    parts = int(2 ** np.ceil(np.log2(np.clip(c.BURST_BINS * records, c.LEAST_BINS, c.BINS)))) if sequences.bursts else c.BINS
    even = sequences.life / parts
    if sequences.bursts:
        edges, density = _bursts(sequences, picked, parts)
        pace = np.log(np.diff(edges) + even / 100)  # a gap of less than 1 % of a bin is not idle
    else:
        grid, progress = _messages(sequences, picked)
        edges, density = np.interp(np.arange(parts + 1) / parts, progress, grid), _counted(sequences, picked, parts)
        spent = np.diff(edges)
        common = np.minimum(spent, np.sort(spent)[-c.LONGEST])  # a hang or two do not hide the other idle times
        pace = np.log1p(common / even) ** 2
    return Clock(edges, density, pace, sequences.kind[picked], sequences.bursts, records)


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


def _counted(sequences: Sequences, picked: Ints, parts: int) -> Floats:
    """Traffic of each sequence in each part of the clock, relative to its mean."""
    _, share, of = _ended(sequences, picked)
    share_of_clock = share * _weight(sequences, picked)[of]
    progress = np.cumsum(share_of_clock) - share_of_clock / 2
    place = of * parts + np.minimum((progress * parts).astype(np.int64), parts - 1)
    moved: Floats = np.bincount(place, share * parts, len(picked) * parts).astype(np.float64)
    return moved.reshape(len(picked), parts)


def _bursts(sequences: Sequences, picked: Ints, parts: int) -> tuple[Floats, Floats]:
    """Times of the edges, and traffic of each sequence between them relative to its mean; bursts move at a constant rate."""
    knots, rates, moved, under_way = list[Floats](), list[Floats](), list[Floats](), list[Mask]()
    for v in picked.tolist():
        own = sequences.records(v)
        begin, weight = sequences.start[own], sequences.weight[own]
        end = np.maximum(sequences.end[own], begin + 1)
        rate = weight / weight.sum() / (end - begin)
        at = np.concatenate([begin, end])
        order = at.argsort(kind="stable")
        knots.append(at[order].astype(np.float64))
        rates.append(np.concatenate([rate, -rate])[order])
        under_way.append(order < len(begin))
        share = np.zeros(len(at))
        (rates[-1].cumsum()[:-1] * (knots[-1][1:] - knots[-1][:-1])).cumsum(out=share[1:])
        moved.append(share)
    at = np.concatenate(knots)
    order = np.argsort(at, kind="stable")
    changes = np.concatenate([weight * own for weight, own in zip(_lifetimes(sequences, picked), rates, strict=True)])[order]
    idle = np.cumsum(np.where(np.concatenate(under_way)[order], 1, -1))[:-1] == 0  # else errors of rounding remain
    level = np.where(idle, 0.0, np.cumsum(changes)[:-1])
    progress = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(level * np.diff(at[order]))]))
    edges = np.interp(np.arange(parts + 1) / parts, progress, at[order])
    density = [np.diff(np.interp(edges, own, share)) for own, share in zip(knots, moved, strict=True)]
    return edges, np.stack(density) * parts
