"""Cuts at ever more of a stream's gaps, and which of these levels is that of its steps (`stream_rhythm`). Compiled loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Floats, Ints
from prism.loops.arrays.medians import arrange, quantile, rising
from prism.loops.periods.cut_volumes import as_wide, full, levels, segments, strays
from prism.loops.periods.substep_tests import own_time

Places = NDArray[np.intp]
Levels = tuple[Places, Ints, Ints, Ints, Floats, Ints]
"""All levels of a stream, the coarsest first: the places of all its gaps, the largest first, and the gaps there, ns; then of
each level at how many it cuts, the commonest volume between its cuts, how much of the octets lies in such, and a gap, ns: three
in four of those cut at are wider."""
NEARLY_ALL = 0.97
AS_OFTEN = 0.15  # of how often something is: about as often
MANY = 12  # steps between pauses that are still seen
EVEN = 1.5  # the ratio of the 90th to the 10th percentile of gaps that are all alike
SCARCE = 6  # groups of steps: fewer may be those between evaluations


@compiled
def resting(gap: Ints) -> tuple[Places, Ints]:
    """The places of a stream's gaps that are any, in order, and how wide they are, negative."""
    place, wide, n = np.empty(len(gap), np.intp), np.empty(len(gap), np.int64), 0
    for i in range(len(gap)):
        place[n], wide[n] = i, -gap[i]
        n += gap[i] != 0
    return place[:n].copy(), wide[:n].copy()


@compiled
def levels_of(
    edge: Ints, gap: Ints, rests: Places, falling: Places, tolerance: float, least: int, pauses: bool, fine: float = 0.005
) -> Levels:
    """Cuts at ever more of the largest gaps, those that leave `least` equal volumes; no further than gaps are worth it.

    `rests` are the places of gaps (`resting`), `falling` which of them is the largest, which the next, and so on. Once nearly
    all is explained, cuts of less than a quarter of that width cannot show steps any more, unless there are no more than, with
    `pauses`, so `MANY` times as many; nor can gaps of less than the share `fine` of the widest: they part messages, which are
    all equal.
    """
    ranked, wide, n = np.empty(len(gap), np.intp), np.zeros(len(gap), np.int64), len(rests)
    for i in range(n):
        ranked[i] = rests[falling[i]]
        wide[i] = gap[ranked[i]]
    for i in range(len(gap)):
        if gap[i] == 0:
            ranked[n] = i
            n += 1
    worth = fine * wide[min(2, len(gap) - 1)] if len(gap) else 0.0
    k, volume, moved = levels(edge, ranked, wide, tolerance, least, worth, MANY if pauses else 1, NEARLY_ALL)
    return ranked, wide, k, volume, moved / max(edge[-1], 1), wide[k * 3 // 4]


@compiled
def fitting(known: Levels, enough: float, floor: float) -> Places:
    """The levels that explain nearly as much as any; none where none explains `floor`."""
    explained, best = known[4], 0.0
    for share in explained:
        best = max(best, share)
    return np.flatnonzero(explained >= enough * best) if best >= floor else np.zeros(0, np.intp)


@compiled
def cuts_of(known: Levels, level: int) -> Places:
    """The records after which a level cuts, in order; −1 is the stream's beginning."""
    ranked, k = known[0], known[2][level]
    cuts = np.empty(k + 2, np.intp)
    cuts[0], cuts[k + 1] = -1, len(ranked)
    cuts[1 : k + 1] = ranked[:k]
    arrange(cuts[1 : k + 1])
    return cuts


@compiled
def chosen(
    known: Levels, fit: Places, edge: Ints, gap: Ints, end: Ints, tolerance: float, pauses: bool, often: int
) -> tuple[int, bool]:
    """The level of steps, of those that `fit`, and whether they come in groups; see `stream_rhythm`. `end` is when each record
    was over, ns.
    """
    volume, explained = known[3], known[4]
    asked = fit[np.abs(edge[-1] / volume[fit] - often) <= AS_OFTEN * often]
    if len(asked):
        return int(asked[np.argmax(explained[asked])]), False
    return _finest(known, fit, edge, gap, end, tolerance, pauses)


@compiled
def as_explained(known: Levels, level: int, tolerance: float) -> int:
    """Of the levels of about the same volume as one of them, that which explains most."""
    volume, explained, best = known[3], known[4], level
    for other in range(len(volume) - 1, -1, -1):
        if abs(volume[other] - volume[level]) <= tolerance * volume[level] and explained[other] >= explained[best]:
            best = other
    return int(best)


@compiled
def _width(known: Levels, level: int) -> int:
    """The gap, ns, that three in four of a level's cuts exceed."""
    _, wide, number, _, _, _ = known
    return int(wide[number[level] - 1 - number[level] // 4])


@compiled
def _parted(known: Levels, level: int, share: float = 0.2) -> bool:
    """Whether a level leaves out a gap for each of its segments, of at least `share` of any that it cuts at."""
    _, wide, number, _, _, _ = known
    k = number[level]
    return bool(2 * k < len(wide) and wide[2 * k] >= share * wide[k - 1])


@compiled
def _finest(known: Levels, fit: Places, edge: Ints, gap: Ints, end: Ints, tolerance: float, pauses: bool) -> tuple[int, bool]:
    """The level of steps, of those that explain enough, and whether they come in groups; with `pauses` as in `stream_rhythm`.

    It is the finest whose cuts are nearly as wide as those of the coarsest. A few steps may fall into equal groups by chance;
    the gaps that such groups leave out are as wide as those they have. Steps may also come in larger groups, parted by
    evaluations: then the gaps left out are all alike, unlike those between the layers of a model; of a few groups that is
    enough, however wide their own gaps are.
    """
    _, wide, number, volume, explained, reach = known
    nearly = np.flatnonzero(explained >= NEARLY_ALL)
    sure = reach[nearly[0]] if len(nearly) else 0
    finest = as_wide(number, volume, wide, fit[reach[fit] >= sure / 4], 0.5, 3.5, EVEN, SCARCE)
    if not pauses:
        return finest, False
    steps = _in_groups(known, fit, edge, end, tolerance)
    finest = steps if steps >= 0 else finest
    return _between_pauses(known, fit[volume[fit] <= volume[finest]], edge, gap, tolerance), steps >= 0


@compiled
def _in_groups(known: Levels, some: Places, edge: Ints, end: Ints, tolerance: float, finer: float = 0.7) -> int:
    """Steps that come in whole groups: the gaps between them are all alike, however long the pauses between groups; else −1.

    Two of three must hold: there are fewer than `SCARCE` groups, who evaluates does so seldom; steps have parts of their own,
    `finer` than themselves, parted by shorter gaps, for what has none may be itself the part of a step; each step takes its own
    time (`substep_tests.Inner`). The last is enough where the pauses are not what parts of a step would leave.
    """
    volume, explained = known[3], known[4]
    coarse, least = some[0], volume[some].min()
    few = np.rint(explained[coarse] * edge[-1] / volume[coarse]) < SCARCE
    for level in _left_alike(known, some):
        parted = least < finer * volume[level] or _parted(known, level)
        if few and parted:
            return int(level)
        bounds = full(cuts_of(known, level), edge, volume[level], tolerance)[1:]
        beats, last = segments(bounds, cuts_of(known, coarse), end)
        if own_time(beats, last, few or parted):
            return int(level)
    return -1


@compiled
def _left_alike(known: Levels, some: Places) -> Places:
    """Those of some levels, the finest first, of whose gaps all that the first leaves out are alike: their 75th percentile is
    `EVEN` times their 10th. A few steps end with a checkpoint.
    """
    _, wide, number, volume, _, _ = known
    k, fine, n = number[some[0]], np.empty(len(some), np.intp), 0
    for level in some[1:]:
        more = number[level]
        alike = wide[k + (more - k) // 4] <= EVEN * wide[more - 1 - (more - k) // 10]
        if alike and volume[level] < volume[some[0]]:
            fine[n] = level
            n += 1
    return fine[:n][rising(volume[fine[:n]])]


@compiled
def _between_pauses(
    known: Levels, some: Places, edge: Ints, gap: Ints, tolerance: float, part: float = 0.25, share: float = 0.5
) -> int:
    """The coarsest of some levels that leaves out no gaps as wide as its own, but at the same places of every segment.

    A job that evaluates every so many steps and writes checkpoints every so many others rests at both, but only one of them
    parts equal volumes. Left out are at least two such gaps, of `share` of the width of the level's own, and the share `part`
    of their number: hangs are fewer. Steps between pauses are parted by gaps that are alike, unlike the halves of steps in
    some of which ranks waited for a slow one.
    """
    _, _, number, volume, _, _ = known
    ranked = some[rising(-volume[some])]
    for level in ranked:
        if level != ranked[0] and not _alike(known, level, ranked[0]):
            continue
        bounds, wide = full(cuts_of(known, level), edge, volume[level], tolerance), share * _width(known, level)
        if strays(bounds, edge, gap, wide, tolerance * volume[level]) < max(2, part * (number[level] + 2)):
            return int(level)
    return int(ranked[0])


@compiled
def _alike(known: Levels, level: int, coarse: int, share: float = 0.5, even: float = 3.0) -> bool:
    """Whether the gaps that a level has and a coarser one leaves out are alike, but for those as wide as the coarser's own."""
    _, wide, number, _, _, _ = known
    begin, stop = number[coarse], number[level]
    while begin < stop and wide[begin] >= share * _width(known, coarse):
        begin += 1
    new = wide[begin : max(begin, stop)][::-1]
    return bool(quantile(new, 0.9) <= even * quantile(new, 0.1))
