"""Steps as equal volumes between large gaps.

Time is a poor clock for training steps: jitter, stragglers, evaluation and hangs stretch it. Volume is a good one: every step
moves the same octets through the same group. So a stream's steps are the segments between its large gaps that all hold the
same volume, whatever time they took; gaps inside a step (a hang, a pipeline bubble) cut the volume short and are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import in_order, median
from prism.loops.periods.cut_volumes import gaps
from prism.loops.periods.gap_levels import AS_OFTEN, Levels, as_explained, chosen, cuts_of, fitting, levels_of, resting
from prism.loops.periods.volume_runs import filled


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
    levels = _levels(edge, gap, tolerance, least, pauses)
    fit = fitting(levels, enough, floor)
    if not len(fit):
        return NONE
    level, grouped = chosen(levels, fit, edge, gap, end, tolerance, pauses, often)
    best = as_explained(levels, level, tolerance)
    found = _filled(start, end, edge, gap, cuts_of(levels, best), int(levels[3][best]), tolerance, least)
    return Rhythm(found.quiet, found.octets, found.explained, grouped)


def choices(
    start: Ints, end: Ints, octets: Ints, *, tolerance: float = 0.02, least: int = 3, enough: float = 0.9, floor: float = 0.5
) -> Iterator[Rhythm]:
    """The rhythms that a stream may have, the one of most steps first: one of each level that `rhythm` would look at, with
    pauses, but for those of about as many steps.
    """
    if len(start) < least:
        return
    edge, gap = gaps(start, end, octets)
    levels = _levels(edge, gap, tolerance, least, True)
    fit, last = fitting(levels, enough, floor), 0
    volume, explained = levels[3], levels[4]
    for level in fit[np.lexsort((-explained[fit], volume[fit]))].tolist():
        if volume[level] > (1 + AS_OFTEN) * last:
            last = int(volume[level])
            yield _filled(start, end, edge, gap, cuts_of(levels, level), last, tolerance, least)


def _levels(edge: Ints, gap: Ints, tolerance: float, least: int, pauses: bool) -> Levels:
    rests, falling = resting(gap)
    return levels_of(edge, gap, rests, in_order(falling), tolerance, least, pauses)


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
