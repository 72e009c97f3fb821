"""Divide recordings of whole jobs by counts: from their first record to their last, each step moves the same.

Slow steps, pauses and hangs do not change counts, nor does a bound between two steps that is hardly longer than others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prism.loops.arrays.group_sums import numbered_pairs
from prism.loops.arrays.intervals import weighted_median
from prism.steps import constants as c
from prism.steps.examined_traffic import Examined
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences


@dataclass(frozen=True, eq=False)
class Counted:
    """Steps by counts: an interval for each bound between segments, ns from the origin of the sequences, float64[n, 2]; which
    segments are complete steps, bool[n + 1]; and the segment of each record, −1 where counts do not tell it.
    """

    bounds: Floats
    complete: Mask
    segment: Ints


def counted_steps(sequences: Sequences, found: Examined) -> Counted | None:
    """Divide the records into steps that move the same; None if most traffic does not divide, as in a part of a recording.

    If the job crashed in a step, and restarted after a silence, that step is not complete.
    """
    times = found.clock.times(found.places) + (found.origin - sequences.origin)
    longest = int(np.argmax(found.clock.spent))
    silence = found.clock.edges[longest] + found.clock.spent[longest] / 2 + found.origin - sequences.origin
    before = sequences.start < silence
    whole, crashed = _equal_steps(sequences, np.ones(len(before), np.bool_), times), -1
    if whole is None and found.clock.spent[longest] > c.SILENT * np.median(np.diff(times)) and not before.all():
        first = _equal_steps(sequences, before, times[times < silence], is_cut=True)
        second = _equal_steps(sequences, ~before, times[times > silence])
        if first is not None and second is not None:
            restart = np.sort([[sequences.end[before].max(), sequences.start[~before].min()]])
            crashed = len(first[0])
            later = np.where(second[1] >= 0, second[1] + crashed + 1, -1)
            whole = np.concatenate([first[0], restart, second[0]]), np.maximum(first[1], later)
    if whole is None:
        return None
    bounds, segment = whole
    return Counted(_after_reduction(bounds, sequences), np.arange(len(bounds) + 1) != crashed, segment)


def _equal_steps(sequences: Sequences, rows: Mask, times: Floats, *, is_cut: bool = False) -> tuple[Floats, Ints] | None:
    """Find the interval between each two equal steps of some records, and the step of each record, −1 if unknown; or None.
    The last step is not complete if it `is_cut`.

    Equal are the octets of a sequence in each step, else those of a pair if it cuts its messages at will, else the number of
    its messages if their sizes vary. Only large records count in a pair: it may also reduce scalars. `times`: a place of each
    step.
    """
    if len(times) < 2:
        return None
    of, octets = sequences.of, sequences.octets
    pair = numbered_pairs(sequences.src.astype(np.int32), sequences.dst.astype(np.int32), int(sequences.dst.max()) + 1)[1][of]
    largest = np.zeros(int(pair.max()) + 1)
    np.maximum.at(largest, pair, octets)
    large = (octets >= c.SMALL * largest[pair]) & ~sequences.signals[of]
    step, number, count, groups = np.full(len(of), -1), np.zeros(len(of), np.int64), 0, 0
    equal = np.zeros(len(of), np.bool_)  # messages of one size; else small ones may lie on either side of a bound
    for group, own, moved in (
        (of, sequences.lasting[of], octets), (pair, large, octets), (pair, large & (not sequences.bursts), sequences.weight)
    ):  # fmt: skip
        at = np.flatnonzero(rows & own & (step < 0))
        at = at[np.lexsort((sequences.start[at], group[at]))]
        if len(at):
            parts = _Parts(group[at], moved[at], sequences.start[at], times, is_cut=is_cut)
            count = count or parts.count
            step[at], number[at], groups = parts.steps(count), parts.of + groups, groups + len(parts.total)
            equal[at] = group is of and not sequences.bursts
            others = parts.total[np.abs(parts.total / parts.usual - count) > 1 / 2].sum()
            if group is pair and not is_cut and others > c.OTHER_COUNT * octets[rows].sum():  # the job stopped inside a step
                return None
    known = np.flatnonzero(step >= 0)
    enough = octets[rows].sum() / 2
    if count < (2 if is_cut else c.LEAST_PLACES) or octets[known].sum() <= enough:
        return None
    later = rows & large & (step < 0) & (sequences.start > sequences.end[known].max())
    if not is_cut and octets[later].sum() > c.SMALL * octets[rows].sum() / count:  # the job stopped in the next step
        return None
    number, place, start, octets = number[known], step[known], sequences.start[known], octets[known]
    bounds = _bounds(number, place, start, sequences.end[known], octets, count)
    limits, late = bounds.mean(1), c.RUNS_AHEAD * np.median(np.diff(times))
    astray = (np.searchsorted(limits, start + late, "right") < place) | (np.searchsorted(limits, start - late, "right") > place)
    by_chance = np.bincount(number, octets * astray, groups) > c.ASTRAY * np.bincount(number, octets, groups)
    step[known[by_chance[number] | ~equal[known]]] = -1
    return (bounds, step) if octets[~by_chance[number]].sum() > enough else None


class _Parts:
    """Groups of records, in order of group and time: what each moved in total, and between two places of steps at `times`."""

    def __init__(self, group: Ints, moved: Floats, start: Ints, times: Floats, *, is_cut: bool) -> None:
        self.first = np.flatnonzero(np.diff(group, prepend=-1))
        self.of, self.moved, self.is_cut = np.cumsum(np.diff(group, prepend=group[:1]) != 0), moved, is_cut
        self.total = np.add.reduceat(moved, self.first)
        cells, place = len(times) + 1, np.searchsorted(times, start)
        between = np.bincount(self.of * cells + place, moved, len(self.first) * cells).reshape(-1, cells)[:, 1:-1]
        self.usual = np.maximum(np.median(between, axis=1), 1.0)
        self.lasting = start[self.first] <= times[1]

    @property
    def count(self) -> int:
        """Number of steps in most traffic."""
        number = weighted_median(self.total / self.usual, self.total)
        return int(number) + 1 if self.is_cut else round(number)

    def steps(self, count: int) -> Ints:
        """Step of each record, −1 in groups that do not divide into `count` equal steps at bounds of records."""
        part = self.usual if self.is_cut else self.total / count
        edge = np.cumsum(self.moved) - self.moved
        edge = (edge - edge[self.first][self.of]) / part[self.of]
        step = np.clip((edge + self.moved / 2 / part[self.of]).astype(np.int64), 0, count - 1)
        begins = np.flatnonzero(np.diff(self.of * count + step, prepend=-1))
        miss = np.abs(edge - step)[begins]
        allowed = np.minimum(np.maximum.reduceat(self.moved, self.first) / part / 4, c.SMALL)[self.of[begins]]
        whole: Mask = np.bincount(self.of[begins], miss <= allowed, len(self.first)) >= count - self.is_cut
        whole &= (np.abs(part / self.usual - 1) <= c.NEAR) & self.lasting
        return np.where(whole[self.of], step, -1)


def _after_reduction(bounds: Floats, sequences: Sequences) -> Floats:
    """End the intervals that begin with the end of all reductions of gradients when other traffic begins: the forward pass."""
    large = ~sequences.small & sequences.lasting
    reduces = sequences.reduces & large
    others = np.sort(sequences.start[(large & ~reduces)[sequences.of]])
    low, high = bounds.T
    reductions = np.sort(sequences.start[reduces[sequences.of]])
    own = np.isin(low, sequences.end[reduces[sequences.of]])
    own &= np.searchsorted(reductions, low) == np.searchsorted(reductions, high)
    after = np.append(others, sequences.life)[np.searchsorted(others, low)]
    return np.stack([low, np.where(own, np.minimum(high, after), high)], axis=1)


def _bounds(group: Ints, step: Ints, start: Ints, end: Ints, octets: Floats, count: int) -> Floats:
    """Find the interval between steps in which most groups, weighted by octets, have ended one and not begun the next."""
    number = np.unique(group, return_inverse=True)[1]
    weight = np.bincount(number, octets)
    begins, ends = np.full((len(weight), count), end.max()), np.zeros((len(weight), count), np.int64)
    np.minimum.at(begins, (number, step), start)
    np.maximum.at(ends, (number, step), end)
    out = []
    for ended, began in zip(ends.T[:-1], begins.T[1:], strict=True):
        idle = ended < began
        at = np.concatenate([ended[idle], began[idle]]) if idle.any() else np.array([np.median(ended), np.median(began)])
        change = np.concatenate([weight[idle], -weight[idle]]) if idle.any() else np.array([1.0, -1.0])
        order = np.argsort(at, kind="stable")
        best = int(np.argmax(np.cumsum(change[order])[:-1]))
        out.append(at[order][best : best + 2])
    return np.maximum.accumulate(np.array(out, np.float64))
