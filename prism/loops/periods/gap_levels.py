"""Cut a stream at ever more of its gaps, and choose the level of its steps (`stream_rhythm`). Compiled loops."""

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
AS_OFTEN = 0.15  # relative difference of frequencies that count as equal
MANY = 12  # steps between pauses that are still recognised
EVEN = 1.5  # ratio of the 90th to the 10th percentile of gaps that count as equal
SCARCE = 6  # groups of steps: fewer may be separated by evaluations


@compiled
def resting(gap: Ints) -> tuple[Places, Ints]:
    """Places of a stream's gaps of more than 0 ns, in order, and their negative widths."""
    place, wide, n = np.empty(len(gap), np.intp), np.empty(len(gap), np.int64), 0
    for i in range(len(gap)):
        place[n], wide[n] = i, -gap[i]
        n += gap[i] != 0
    return place[:n].copy(), wide[:n].copy()


@compiled
def levels_of(
    edge: Ints, gap: Ints, rests: Places, falling: Places, tolerance: float, least: int, pauses: bool, fine: float = 0.005
) -> Levels:
    """Cut at ever more of the largest gaps: levels with `least` equal volumes, as long as gaps are wide enough.

    `rests`: places of gaps (`resting`). `falling`: their order by width, largest first. Once nearly all octets are explained,
    cuts of less than a quarter of that width no longer show steps, unless there are at most `MANY` times as many (with
    `pauses`). Gaps of less than the share `fine` of the widest separate messages, which are all equal.
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
    """Select the levels that explain nearly as much as any; none if none explains `floor`."""
    explained, best = known[4], 0.0
    for share in explained:
        best = max(best, share)
    return np.flatnonzero(explained >= enough * best) if best >= floor else np.zeros(0, np.intp)


@compiled
def cuts_of(known: Levels, level: int) -> Places:
    """Records after which a level cuts, in order; −1 is the stream's begin."""
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
    """Choose the level of steps among those that `fit`, and whether steps come in groups; see `stream_rhythm`. `end`: end
    of each record, ns.
    """
    volume, explained = known[3], known[4]
    asked = fit[np.abs(edge[-1] / volume[fit] - often) <= AS_OFTEN * often]
    if len(asked):
        return int(asked[np.argmax(explained[asked])]), False
    return _finest(known, fit, edge, gap, end, tolerance, pauses)


@compiled
def as_explained(known: Levels, level: int, tolerance: float) -> int:
    """Of the levels of about the same volume as a level, return the one that explains most."""
    volume, explained, best = known[3], known[4], level
    for other in range(len(volume) - 1, -1, -1):
        if abs(volume[other] - volume[level]) <= tolerance * volume[level] and explained[other] >= explained[best]:
            best = other
    return int(best)


@compiled
def _width(known: Levels, level: int) -> int:
    """Gap, ns, that three in four of a level's cuts exceed."""
    _, wide, number, _, _, _ = known
    return int(wide[number[level] - 1 - number[level] // 4])


@compiled
def _parted(known: Levels, level: int, share: float = 0.2) -> bool:
    """Check whether a level omits a gap in each of its segments of at least `share` of any gap at which it cuts."""
    _, wide, number, _, _, _ = known
    k = number[level]
    return bool(2 * k < len(wide) and wide[2 * k] >= share * wide[k - 1])


@compiled
def _finest(known: Levels, fit: Places, edge: Ints, gap: Ints, end: Ints, tolerance: float, pauses: bool) -> tuple[int, bool]:
    """Choose the level of steps among those that explain enough, and whether they come in groups; `pauses` as in
    `stream_rhythm`.

    It is the finest level whose cuts are nearly as wide as those of the coarsest. A few steps may form equal groups by chance;
    the gaps inside such groups are as wide as those between them. Steps may also come in larger groups separated by
    evaluations: then the omitted gaps are all alike, unlike those between the layers of a model. With few groups this suffices,
    whatever the width of their own gaps.
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
    """Find steps in complete groups: gaps between steps are alike, however long the pauses between groups; else −1.

    Two of three must hold: there are fewer than `SCARCE` groups (evaluations are rare); steps have parts, `finer` than
    themselves, with shorter gaps (a step without parts may itself be a part); each step has its own duration
    (`substep_tests.Inner`). The last suffices if the pauses are not those between parts of a step.
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
    """Select levels, finest first, whose gaps omitted by the first are alike: 75th percentile at most `EVEN` times the
    10th. A few steps end with a checkpoint.
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
    """Return the coarsest level that omits no gaps as wide as its own, except at equal places of every segment.

    A job with evaluations and checkpoints at different intervals pauses at both, but only one of them separates equal volumes.
    At least two such gaps are omitted, of `share` of the width of the level's own, and `part` of their number: hangs are rarer.
    Gaps between steps are alike, unlike those inside steps in which ranks sometimes wait for a slow one.
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
    """Check whether the gaps that a level has and a coarser one omits are alike, except those as wide as the coarser's own."""
    _, wide, number, _, _, _ = known
    begin, stop = number[coarse], number[level]
    while begin < stop and wide[begin] >= share * _width(known, coarse):
        begin += 1
    new = wide[begin : max(begin, stop)][::-1]
    return bool(quantile(new, 0.9) <= even * quantile(new, 0.1))
