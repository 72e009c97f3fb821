"""Steps as equal volumes between large gaps.

Time is a poor clock for training steps: jitter, stragglers, evaluation and hangs stretch it. Volume is a good one: every step
moves the same octets through the same group. So a stream's steps are the segments between its large gaps that all hold the
same volume, whatever time they took; gaps inside a step (a hang, a pipeline bubble) cut the volume short and are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.kernels.intervals import Floats, Ints
from prism.kernels.ordered import in_order, median
from prism.kernels.runs import filled
from prism.kernels.together import inner
from prism.kernels.volumes import as_wide, full, gaps, levels, segments, strays

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Rhythm:
    """Boundaries of a stream's steps: `quiet` is int64[n, 2], the gap after each step that ended with a full volume, ns.

    The gap after the stream's last record ends at `FOREVER`.

    `explained` 0 … 1 is the share of all octets that lie in segments of the usual volume `octets`. Steps are `grouped` where
    they were told from groups of them that longer pauses part.
    """

    quiet: Ints
    octets: int
    explained: float
    grouped: bool = False

    @cached_property
    def rest(self) -> float:
        """Share of a step in which the stream usually rests, 0 … 1."""
        long = np.minimum(self.quiet[:, 1], self.quiet[-1:, 0]) - self.quiet[:, 0]
        return median(long[:-1]) / self.period_ns if self.period_ns > 0 else 0.0

    @cached_property
    def period_ns(self) -> float:
        """Median distance of consecutive step ends, ns; 0 with fewer than two."""
        return median(np.diff(self.quiet[:, 0]))


_NEARLY_ALL = 0.97
AS_OFTEN = 0.15  # of how often something is: about as often
_MANY = 12  # steps between pauses that are still seen
FOREVER = np.iinfo(np.int64).max
NONE = Rhythm(np.zeros((0, 2), np.int64), 0, 0.0)


def rhythm(
    start: Ints,
    end: Ints,
    octets: Ints,
    *,
    tolerance: float = 0.02,
    least: int = 3,
    enough: float = 0.9,
    floor: float = 0.5,
    pauses: bool = False,
    often: int = 0,
) -> Rhythm:
    """The coarsest rhythm that explains nearly (`enough`) as much as any finer one, and at least `floor` of all octets.

    `start`, `end`, `octets` are a stream's records in order of start. Volumes within `tolerance` are equal; fewer than
    `least` equal ones are no rhythm. The last step counts although nothing follows it. With `pauses` steps may come in
    groups: for streams whose work no bubble of a pipeline parts; of the levels that have about as many steps as somebody
    else tells (`often`), if any, the one that explains most is taken.
    """
    if len(start) < least:
        return NONE
    edge, gap = gaps(start, end, octets)
    levels = _levels(edge, gap, tolerance, least, beyond=_MANY if pauses else 1)
    fit = _fitting(levels, enough, floor)
    if not len(fit):
        return NONE
    asked = fit[np.abs(edge[-1] / levels.volume[fit] - often) <= AS_OFTEN * often]
    grouped = False
    if len(asked):
        finest = levels.at(asked[np.argmax(levels.explained[asked])])
    else:
        finest, grouped = _finest(levels, fit, edge, gap, end, tolerance, pauses)
    same = np.flatnonzero(np.abs(levels.volume - finest.volume) <= tolerance * finest.volume)
    best_of = levels.at(same[np.argmax(levels.explained[same])])
    return replace(_filled(start, end, edge, gap, best_of.cuts, best_of.volume, tolerance, least), grouped=grouped)


def choices(
    start: Ints, end: Ints, octets: Ints, *, tolerance: float = 0.02, least: int = 3, enough: float = 0.9, floor: float = 0.5
) -> Iterator[Rhythm]:
    """The rhythms that a stream may have, the one of most steps first: one of each level that `rhythm` would look at, with
    pauses, but for those of about as many steps.
    """
    if len(start) < least:
        return
    edge, gap = gaps(start, end, octets)
    levels = _levels(edge, gap, tolerance, least, beyond=_MANY)
    fit, last = _fitting(levels, enough, floor), 0
    for place in fit[np.lexsort((-levels.explained[fit], levels.volume[fit]))].tolist():
        level = levels.at(place)
        if level.volume > (1 + AS_OFTEN) * last:
            last = level.volume
            yield _filled(start, end, edge, gap, level.cuts, level.volume, tolerance, least)


def _fitting(levels: _Levels, enough: float, floor: float) -> Places:
    """The levels that explain nearly as much as any; none where none explains `floor`."""
    best = float(levels.explained.max(initial=0.0))
    return np.flatnonzero(levels.explained >= enough * best) if best >= floor else np.zeros(0, np.intp)


def _finest(
    levels: _Levels, fit: Places, edge: Ints, gap: Ints, end: Ints, tolerance: float, pauses: bool
) -> tuple[_Level, bool]:
    """The level of steps, of those that explain enough, and whether they come in groups; with `pauses` as in `rhythm`."""
    nearly = np.flatnonzero(levels.explained >= _NEARLY_ALL)
    sure = int(levels.reach[nearly[0]]) if len(nearly) else 0
    finest = _as_wide(levels, fit[levels.reach[fit] >= sure / 4])
    if not pauses:
        return finest, False
    steps = _in_groups(levels, fit, edge, end, tolerance)
    finest = steps or finest
    return _between_pauses(levels, fit[levels.volume[fit] <= finest.volume], edge, gap, tolerance), steps is not None


class _Level(NamedTuple):
    """Cuts at the `k` largest of a stream's gaps, the commonest volume between them, how much it explains.

    `ranked` are the places of all gaps, the largest first, `wide` the gaps there, ns. Three in four of the gaps cut at are
    wider than `reach`, ns.
    """

    k: int
    ranked: NDArray[np.intp]
    wide: Ints
    explained: float
    volume: int
    reach: int

    @property
    def cuts(self) -> NDArray[np.intp]:
        """The records after which it cuts, in order; -1 is the stream's beginning."""
        return np.concatenate([[-1], np.sort(self.ranked[: self.k]), [len(self.ranked)]])

    @property
    def width(self) -> float:
        """The gap, ns, that three in four of its cuts exceed."""
        return float(self.wide[self.k - 1 - self.k // 4])

    def parted(self, *, share: float = 0.2) -> bool:
        """Whether it leaves out a gap for each of its segments, of at least `share` of any that it cuts at."""
        inside = self.wide[self.k : 2 * self.k + 1]
        return len(inside) > self.k and bool(inside[-1] >= share * self.wide[self.k - 1])


class _Levels(NamedTuple):
    """All levels of a stream, the coarsest first; see `_Level`."""

    ranked: NDArray[np.intp]
    wide: Ints
    k: Ints
    volume: Ints
    explained: Floats
    reach: Ints

    def at(self, place: int) -> _Level:
        """One of them."""
        k, volume, reach = (int(column[place]) for column in (self.k, self.volume, self.reach))
        return _Level(k, self.ranked, self.wide, float(self.explained[place]), volume, reach)


def _levels(edge: Ints, gap: Ints, tolerance: float, least: int, *, fine: float = 0.005, beyond: int = 1) -> _Levels:
    """Cuts at ever more of the largest gaps, those that leave `least` equal volumes; no further than gaps are worth it.

    Once nearly all is explained, cuts of less than a quarter of that width cannot show steps any more, unless there are no
    more than `beyond` times as many; nor can gaps of less than the share `fine` of the widest: they part messages, which
    are all equal.
    """
    rests = np.flatnonzero(gap)
    ranked = np.concatenate([rests[in_order(-gap[rests])], np.flatnonzero(gap == 0)])  # of a busy stream hardly any is a rest
    wide, total = gap[ranked], max(int(edge[-1]), 1)
    worth = fine * float(wide[min(2, len(gap) - 1)]) if len(gap) else 0.0
    k, volume, moved = levels(edge, ranked, wide, tolerance, least, worth, beyond, _NEARLY_ALL)
    return _Levels(ranked, wide, k, volume, moved / total, wide[k * 3 // 4])


def _as_wide(
    levels: _Levels, some: Places, *, share: float = 0.5, few: float = 3.5, even: float = 1.5, scarce: int = 6
) -> _Level:
    """The finest of some levels whose cuts are nearly as wide as those of the first, the coarsest.

    A `few` steps may fall into equal groups by chance; the gaps that such groups leave out are as wide as those they have.
    Steps may also come in larger groups, parted by evaluations: then the gaps left out are all alike (`even`, the ratio of
    their 90th to their 10th percentile), unlike those between the layers of a model; of fewer than `scarce` groups that is
    enough, however wide their own gaps are.
    """
    return levels.at(as_wide(levels.k, levels.volume, levels.wide, some, share, few, even, scarce))


def _in_groups(
    levels: _Levels,
    some: Places,
    edge: Ints,
    end: Ints,
    tolerance: float,
    *,
    even: float = 1.5,
    scarce: int = 6,
    finer: float = 0.7,
) -> _Level | None:
    """Steps that come in whole groups: the gaps between them are all alike, however long the pauses between groups; else None.

    Two of three must hold: there are fewer than `scarce` groups, who evaluates does so seldom; steps have parts of their own,
    `finer` than themselves, parted by shorter gaps, for what has none may be itself the part of a step; each step takes its own
    time (`together.Inner`). The last is enough where the pauses are not what parts of a step would leave. `end` is when each
    record was over, ns.
    """
    coarse, least = levels.at(some[0]), int(levels.volume[some].min())
    few = round(coarse.explained * int(edge[-1]) / coarse.volume) < scarce
    for place in _left_alike(levels, some, even):
        level = levels.at(place)
        parted = least < finer * level.volume or level.parted()
        if (few and parted) or _own_time(level, coarse, edge, end, tolerance, unlikely=few or parted):
            return level
    return None


def _left_alike(levels: _Levels, some: Places, even: float) -> Places:
    """Those of some levels, the finest first, of whose gaps all that the first leaves out are alike: their 75th percentile is
    `even` times their 10th. A few steps end with a checkpoint.
    """
    k, more = levels.k[some[0]], levels.k[some[1:]]
    quarter, tenth = (more - k) // 4, (more - k) // 10
    fit = levels.volume[some[1:]] < levels.volume[some[0]]
    fit &= levels.wide[k + quarter] <= even * levels.wide[more - 1 - tenth]
    fine: Places = some[1:][fit]
    return fine[np.argsort(levels.volume[fine], kind="stable")]


def _own_time(level: _Level, coarse: _Level, edge: Ints, end: Ints, tolerance: float, *, unlikely: bool) -> bool:
    """Whether the segments of a level each take their own time, rather than being parts of those of a coarser one; where that
    is not `unlikely` anyway, they must also be none of a backward pass.
    """
    found = inner(*segments(full(level.cuts, edge, level.volume, tolerance)[1:], coarse.cuts, end))
    return found.of_their_own() and (unlikely or not found.may_be_buckets())


def _between_pauses(levels: _Levels, some: Places, edge: Ints, gap: Ints, tolerance: float, *, part: float = 0.25) -> _Level:
    """The coarsest of some levels that leaves out no gaps as wide as its own, but at the same places of every segment.

    A job that evaluates every so many steps and writes checkpoints every so many others rests at both, but only one of them
    parts equal volumes. Left out are at least two such gaps and the share `part` of the level's own: hangs are fewer. Steps
    between pauses are parted by gaps that are alike, unlike the halves of steps in some of which ranks waited for a slow one.
    """
    ranked = some[np.argsort(-levels.volume[some], kind="stable")]
    coarse = levels.at(ranked[0])
    for place in ranked:
        level = levels.at(place)
        if place != ranked[0] and not _alike(level, coarse, gap):
            continue
        if _strays(level, edge, gap, tolerance) < max(2, part * (level.k + 2)):
            return level
    return coarse


def _alike(level: _Level, coarse: _Level, gap: Ints, *, share: float = 0.5, even: float = 3.0) -> bool:
    """Whether the gaps that a level has and a coarser one leaves out are alike, but for those as wide as the coarser's own."""
    new = gap[np.setdiff1d(level.cuts[1:-1], coarse.cuts)]
    new = new[new < share * coarse.width]
    low, high = np.percentile(new, (10, 90)) if len(new) else (0, 0)
    return bool(high <= even * low) or not len(new)


def _strays(level: _Level, edge: Ints, gap: Ints, tolerance: float, *, share: float = 0.5) -> int:
    """How many gaps of at least `share` of a level's width it leaves out, that few of its segments have at the same place."""
    bounds = full(level.cuts, edge, level.volume, tolerance)
    return strays(bounds, edge, gap, share * level.width, tolerance * level.volume)


def strides(
    start: Ints, end: Ints, octets: Ints, known: Ints, volume: int, *, tolerance: float = 0.02, least: int = 3
) -> Rhythm:
    """The rhythm of steps of `volume` octets, from some of their ends, `known` ns, on; a stream's records as for `rhythm`."""
    edge, gap = gaps(start, end, octets)
    cuts = np.searchsorted(np.maximum.accumulate(end), known)
    return _filled(start, end, edge, gap, np.unique(cuts).astype(np.intp), volume, tolerance, least)


def _filled(
    start: Ints, end: Ints, edge: Ints, gap: Ints, cuts: NDArray[np.intp], volume: int, tolerance: float, least: int
) -> Rhythm:
    """Boundaries that cuts missed are found in strides of one volume from those it has.

    A stride ends at the largest gap near its goal, and only where that is a gap at all beside the others.
    """
    quiet = filled(start, end, edge, gap, cuts, volume, tolerance, FOREVER)
    if len(quiet) < least:
        return NONE
    return Rhythm(quiet, volume, float(min(len(quiet) * volume / max(int(edge[-1]), 1), 1.0)))
