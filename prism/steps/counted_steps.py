"""Divide recordings of whole jobs by counts: from their first record to their last, each step moves the same.

Slow steps, pauses and hangs do not change counts, nor does a bound between two steps that is hardly longer than others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism.loops.arrays.intervals import weighted_median
from prism.steps import constants as c
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences


@dataclass(frozen=True, eq=False)
class Counted:
    """Steps by counts: an interval for each bound between steps, ns from the origin of the sequences, float64[n, 2]; and the
    step of each record, −1 where counts do not show it.
    """

    bounds: Floats
    segment: Ints


def counted_steps(sequences: Sequences, times: Floats) -> Counted | None:
    """Divide the records into equal steps; None if most traffic does not divide, as in a part of a recording.

    Equal is the number of messages of a sequence in each step, or their octets if they are cut at will. `times`: a place of
    each step.
    """
    at = np.flatnonzero(sequences.lasting.take(sequences.of))
    parts = _Parts(sequences.of.take(at), sequences.weight.take(at), sequences.start.take(at), times)
    place, octets = parts.steps(), sequences.octets
    known = at[place >= 0]
    least = c.DIVIDES_OF_CLOSED if sequences.closed else c.DIVIDES
    if parts.count < c.LEAST_PLACES or octets[known].sum() <= least * octets[at].sum():
        return None
    later = ~sequences.signals.take(sequences.of) & (sequences.start > sequences.end[known].max())
    later[known] = False
    if octets[later].sum() > c.SMALL * octets.sum() / parts.count:  # the job stopped in the next step
        return None
    first = np.unique(parts.of[place >= 0], return_index=True)[1]
    weight = np.add.reduceat(octets[known], first)
    cells = np.flatnonzero(np.diff(place[place >= 0], prepend=-1))  # each of these sequences moves in each step
    begins = sequences.start[known[cells]].reshape(-1, parts.count)
    ends = np.maximum.reduceat(sequences.end[known], cells).reshape(-1, parts.count)
    bounds = _bounds(begins, ends, weight)
    limits, late = bounds.mean(1), c.RUNS_AHEAD * np.median(np.diff(times))
    by_chance = ((begins[:, 1:] + late < limits) | (ends[:, :-1] - late > limits)).mean(1) > c.ASTRAY
    step = np.full(len(octets), -1)
    if not sequences.bursts:
        step[known] = np.where(np.repeat(by_chance, np.diff(first, append=len(known))), -1, place[place >= 0])
    bounds = _after_reduction(bounds, sequences)
    return Counted(bounds, step) if 2 * weight[~by_chance].sum() > octets.sum() else None


class _Parts:
    """Groups of records, in order of group and time: what each moved in total, and between two places of steps at `times`."""

    def __init__(self, group: Ints, moved: Floats, start: Ints, times: Floats) -> None:
        self.first = np.flatnonzero(np.diff(group, prepend=-1))
        self.of, self.moved = np.cumsum(np.diff(group, prepend=group[:1]) != 0), moved
        self.total = np.add.reduceat(moved, self.first)
        cells, place = len(times) + 1, np.searchsorted(times, start)
        between = np.bincount(self.of * cells + place, moved, len(self.first) * cells).reshape(-1, cells)[:, 1:-1]
        self.usual = np.maximum(np.median(between, axis=1), 1.0)
        self.lasting = start[self.first] <= times[1]
        self.count = round(weighted_median(self.total / self.usual, self.total))  # of the steps of most traffic

    def steps(self) -> Ints:
        """Step of each record, −1 in groups that do not divide into `count` equal steps at bounds of records."""
        part = self.total / self.count
        edge = np.cumsum(self.moved) - self.moved
        edge, part_of = edge - edge[self.first].take(self.of), part.take(self.of)
        edge /= part_of
        step = np.clip((edge + self.moved / 2 / part_of).astype(np.int64), 0, self.count - 1)
        begins = np.flatnonzero(np.diff(self.of * self.count + step, prepend=-1))
        miss = np.abs(edge - step)[begins]
        allowed = np.minimum(np.maximum.reduceat(self.moved, self.first) / part / 4, c.SMALL)[self.of[begins]]
        whole: Mask = np.bincount(self.of[begins], miss <= allowed, len(self.first)) >= self.count
        whole &= (np.abs(part / self.usual - 1) <= c.NEAR) & self.lasting
        return np.where(whole.take(self.of), step, -1)


def _after_reduction(bounds: Floats, sequences: Sequences) -> Floats:
    """End the intervals that begin with the end of all reductions of gradients when other traffic begins: the forward pass."""
    large = sequences.lasting & ~sequences.small
    reduces, (low, high) = large & sequences.reduces, bounds.T
    if not reduces.any() or not (large & ~reduces).any():
        return bounds
    own = reduces.take(sequences.of)
    start, end = sequences.start[own], sequences.end[own]
    before, at = np.searchsorted(low, start, "right") - 1, np.minimum(np.searchsorted(low, end), len(low) - 1)
    ended = np.bincount(at, low[at] == end, len(low)) > 0
    inside = np.bincount(before + 1, (before >= 0) & (start < high[before]), len(low) + 1)[1:] > 0
    others = np.sort(sequences.start[(large & ~reduces).take(sequences.of)])
    after = np.append(others, sequences.life)[np.searchsorted(others, low)]
    return np.stack([low, np.where(ended & ~inside, np.minimum(high, after), high)], axis=1)


def _bounds(begins: Ints, ends: Ints, weight: Floats) -> Floats:
    """Find the interval between steps in which most sequences, by weight, have ended one and not begun the next."""
    out = []
    for ended, began in zip(ends.T[:-1], begins.T[1:], strict=True):
        idle = ended < began
        at = np.concatenate([ended[idle], began[idle]]) if idle.any() else np.array([np.median(ended), np.median(began)])
        change = np.concatenate([weight[idle], -weight[idle]]) if idle.any() else np.array([1.0, -1.0])
        order = np.argsort(at, kind="stable")
        best = int(np.argmax(np.cumsum(change[order])[:-1]))
        out.append(at[order][best : best + 2])
    return np.maximum.accumulate(np.array(out, np.float64))
