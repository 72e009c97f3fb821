"""Find steps as equal volumes between large gaps.

Time is a poor clock for training steps: jitter, stragglers, evaluation and hangs stretch it. Volume is a good one: every step
moves the same octets through the same group. So the steps of a stream are the segments between its large gaps with equal
volume, whatever their duration. Gaps inside a step (a hang, a pipeline bubble) divide the volume and are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from prism.loops import constants as c
from prism.loops.arrays.intervals import Ints
from prism.loops.arrays.medians import in_order, median
from prism.loops.periods.cut_volumes import gaps
from prism.loops.periods.gap_levels import AS_OFTEN, Levels, as_explained, chosen, cuts_of, fitting, levels_of, resting
from prism.loops.periods.volume_runs import filled


@dataclass(frozen=True, eq=False)
class Rhythm:
    """Step ends of a stream: `quiet` is int64[n, 2], the gap after each step with full volume, ns.

    The gap after the stream's last record ends at `FOREVER`. `explained`, 0 … 1: share of all octets in segments of the usual
    volume `octets`. `grouped`: steps were inferred from groups of them that longer pauses separate.
    """

    quiet: Ints
    octets: int
    explained: float
    grouped: bool = False

    @cached_property
    def rest(self) -> float:
        """Median idle share of a step, 0 … 1."""
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
    tolerance: float = c.TOLERANCE,
    least: int = c.REPETITIONS,
    enough: float = c.NEARLY_AS_MUCH,
    floor: float = 0.5,
    pauses: bool = False,
    often: int = 0,
) -> Rhythm:
    """Find the coarsest rhythm that explains nearly (`enough`) as much as any finer one, and at least `floor` of all octets.

    Parameters
    ----------
    start, end, octets : int64[n]
        Records of a stream in order of start; times in ns.
    tolerance : float
        Relative difference of equal volumes.
    least : int
        Fewest equal volumes of a rhythm. The last step counts although nothing follows it.
    enough : float
        Share of the best explanation that a coarser rhythm must reach.
    floor : float
        Smallest share of all octets that a rhythm must explain.
    pauses : bool
        Steps may come in groups: for streams that no pipeline bubble divides.
    often : int
        Number of steps from another source, 0 if unknown; of the levels with about that number, the one that explains most is
        used.
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
    start: Ints,
    end: Ints,
    octets: Ints,
    *,
    tolerance: float = c.TOLERANCE,
    least: int = c.REPETITIONS,
    enough: float = c.NEARLY_AS_MUCH,
    floor: float = 0.5,
) -> Iterator[Rhythm]:
    """Yield the possible rhythms of a stream, that with most steps first: one per level that `rhythm` would examine, with
    pauses, except those with about equal numbers of steps.
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


def _filled(
    start: Ints, end: Ints, edge: Ints, gap: Ints, cuts: NDArray[np.intp], volume: int, tolerance: float, least: int
) -> Rhythm:
    """Find step ends that cuts missed, in strides of one volume from known ones.

    A stride ends at the largest gap near its target, and only if that is a gap compared with the others.
    """
    quiet = filled(start, end, edge, gap, cuts, volume, tolerance, FOREVER)
    if len(quiet) < least:
        return NONE
    return Rhythm(quiet, volume, float(min(len(quiet) * volume / max(int(edge[-1]), 1), 1.0)))
