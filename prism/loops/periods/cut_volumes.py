"""Compiled loops over a stream's cuts: the most frequent volume between them, and the gaps that separate its steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints, Mask
from collectors.compilation.compiled import compiled
from prism.loops.arrays.medians import arrange, quantile

Places = NDArray[np.intp]


@compiled
def reached(cuts: Places, edge: Ints) -> Ints:
    """Octets before each cut (after a record; −1 is the stream's begin); `edge`: octets up to the end of each record."""
    out = np.zeros(len(cuts), np.int64)
    for i in range(len(cuts)):
        if cuts[i] >= 0:
            out[i] = edge[cuts[i]]
    return out


@compiled
def between(cuts: Places, edge: Ints) -> Ints:
    """Octets from each cut to the next."""
    before = reached(cuts, edge)
    return before[1:] - before[:-1]


@compiled
def full(cuts: Places, edge: Ints, volume: int, tolerance: float) -> Places:
    """Return the cuts before and after each segment of a volume, each once."""
    moved = between(cuts, edge)
    taken = np.zeros(len(cuts), np.bool_)
    for i in range(len(moved)):
        if abs(moved[i] - volume) <= tolerance * volume:
            taken[i] = taken[i + 1] = True
    return cuts[taken]


@compiled
def segments(cuts: Places, coarse: Places, end: Ints) -> tuple[Ints, Mask]:
    """Duration from each cut to the next, until all records before it have ended, ns; and which cuts are `coarse` ones.

    Both are in order, none before the first record; `end` is the end of each record.
    """
    over, last = np.empty(len(cuts), np.int64), np.zeros(len(cuts), np.bool_)
    reach, at, k = end[0], 0, 0
    for i in range(len(cuts)):
        while at <= cuts[i]:
            reach = max(reach, end[at])
            at += 1
        while k < len(coarse) and coarse[k] < cuts[i]:
            k += 1
        over[i], last[i] = reach, k < len(coarse) and coarse[k] == cuts[i]
    return over[1:] - over[:-1], last


@compiled
def strays(bounds: Places, edge: Ints, gap: Ints, wide: float, slack: float) -> int:
    """Count gaps of at least `wide` ns between ordered bounds, at places that fewer than half of the parts share.

    Places are octets since the previous bound, equal within `slack`. Gaps before the first bound are ignored.
    """
    begun, place = reached(bounds, edge), np.empty(len(gap), np.int64)
    n, k = 0, -1
    for i in range(len(gap)):
        while k + 1 < len(bounds) and bounds[k + 1] < i:
            k += 1
        at_bound = k + 1 < len(bounds) and bounds[k + 1] == i
        if gap[i] >= wide and not at_bound and k >= 0:
            place[n] = edge[i] - begun[k]
            n += 1
    place = np.sort(place[:n])
    low = high = count = 0
    for i in range(n):
        while place[low] < place[i] - slack:
            low += 1
        while high < n and place[high] <= place[i] + slack:
            high += 1
        count += 2 * (high - low) < len(bounds) - 1
    return count


@compiled
def commonest(volume: Ints, tolerance: float) -> tuple[int, int, int]:
    """Range of sorted volumes within `tolerance` of one of them with the largest sum; and the sum."""
    best, first, stop, total = 0, 0, 0, volume.sum()
    low = high = len(volume)
    above = over = 0  # octets from `low` and from `high` on
    for i in range(len(volume) - 1, -1, -1):
        while low > 0 and volume[low - 1] >= volume[i] * (1 - tolerance):
            low -= 1
            above += volume[low]
        while high > 0 and volume[high - 1] >= volume[i] * (1 + tolerance):
            high -= 1
            over += volume[high]
        if total - over < best:  # even all others together are less
            break
        if above - over >= best:
            best, first, stop = above - over, low, high
    return first, stop, best


@compiled
def _around(ranked: Places, edge: Ints) -> tuple[Ints, Ints]:
    """Octets before the neighbouring cuts of each cut, once all cuts before it are made.

    Cuts are removed one by one, from the last; the remaining ones are neighbours.
    """
    last = len(edge)
    cut, low, high = np.zeros(last, np.bool_), np.empty(last + 1, np.intp), np.empty(last + 1, np.intp)
    below, above, at = np.empty(len(ranked), np.int64), np.empty(len(ranked), np.int64), 0
    cut[ranked] = True
    cut[last - 1] = True
    for i in range(last):
        if cut[i]:
            low[i + 1], high[at] = at, i + 1  # the stream's begin is at 0, record i at i + 1
            at = i + 1
    for k in range(len(ranked) - 1, -1, -1):
        before, after = low[ranked[k] + 1], high[ranked[k] + 1]
        below[k], above[k] = edge[before - 1] if before else 0, edge[after - 1]
        high[before], low[after] = after, before
    return below, above


@compiled
def _exchange(volume: Ints, n: int, gone: Ints, come: Ints) -> None:
    """Remove `gone` from the first `n` sorted volumes and insert `come`, for which there is space at the end.

    Both are sorted. A removed volume was split into two new ones, which may be removed again.
    """
    g, c, i = len(gone) - 1, len(come) - 1, n - 1
    while c >= 0:  # from the largest: values below all new ones stay in place
        top, ahead = max(come[c], gone[g]) if g >= 0 else come[c], c - g
        while i >= 0 and volume[i] > top:
            volume[i + ahead] = volume[i]
            i -= 1
        taken, given = g >= 0 and gone[g] == top, come[c] == top
        if given and not taken:
            volume[i + ahead] = top
        i -= taken and not given
        g -= taken
        c -= given


@compiled
def levels(
    edge: Ints, ranked: Places, wide: Ints, tolerance: float, least: int, worth: float, beyond: int, nearly: float
) -> tuple[Ints, Ints, Ints]:
    """Cut at ever more of the largest gaps: number of cuts, most frequent volume between them, octets of such segments;
    int64[n] each.

    `ranked`: places of the gaps, largest first. `wide`: their widths, ns. Levels with fewer than `least` equal volumes are
    skipped. The search ends where three in four gaps are no wider than `worth`; once `k` cuts explain the share `nearly`, this
    rises to a quarter of their width at `beyond` times as many cuts.
    """
    number, common, sums = np.empty(len(wide), np.int64), np.empty(len(wide), np.int64), np.empty(len(wide), np.int64)
    most = n = enough = known = wider = 0
    while most < len(wide) and wide[most] > 0:
        wider += wide[most] >= worth
        most += 1
    most = min(most, 4 * wider // 3)
    below, above = _around(ranked[:most], edge)
    volumes, gone, come = np.empty(most + 1, np.int64), np.empty(most, np.int64), np.empty(2 * most, np.int64)
    volumes[0] = edge[-1]
    k = 2
    while k <= most and wide[k * 3 // 4] >= worth:
        for i in range(known, k):
            there = edge[ranked[i]]
            gone[i - known], come[2 * (i - known)], come[2 * (i - known) + 1] = (
                above[i] - below[i],
                there - below[i],
                above[i] - there,
            )
        fewer, more = gone[: k - known], come[: 2 * (k - known)]
        arrange(fewer)
        arrange(more)
        _exchange(volumes, known + 1, fewer, more)
        known, volume = k, volumes[: k + 1]
        low, high, explained = commonest(volume, tolerance)
        if high - low >= least:
            number[n], common[n], sums[n] = k, volume[(low + high) // 2], explained
            n += 1
            if explained / max(edge[-1], 1) >= nearly:
                enough = enough or beyond * k
                if k >= enough:
                    worth = max(worth, wide[k * 3 // 4] / 4)
        k = max(k + 1, int(k * 1.04))
    return number[:n].copy(), common[:n].copy(), sums[:n].copy()


@compiled
def gaps(start: Ints, end: Ints, octets: Ints) -> tuple[Ints, Ints]:
    """Octets sent up to the end of each record (int64[n]), and the gap after each record except the last (int64[n-1], ns)."""
    n = len(start)
    edge, gap = np.empty(n, np.int64), np.empty(max(n - 1, 0), np.int64)
    moved, reach = 0, end[0] if n else 0
    for i in range(n):
        if i:
            gap[i - 1] = max(start[i] - reach, 0)
        moved += octets[i]
        edge[i] = moved
        reach = max(reach, end[i])
    return edge, gap


@compiled
def as_wide(number: Ints, volume: Ints, wide: Ints, levels: Places, share: float, few: float, even: float, scarce: int) -> int:
    """Of some `levels`, coarsest first, return the one of smallest volume with gaps as wide as the first
    (`stream_rhythm._as_wide`).

    `number` and `volume`: cuts and volume between cuts of each level. `wide`: all gaps, descending.
    """
    coarse = best = levels[0]
    k = number[coarse]
    width, short = wide[k - 1 - k // 4], k + 1 < scarce
    for level in levels[1:]:
        more = number[level]
        as_it = wide[more - 1 - more // 4] >= share * width
        if not as_it and not short:
            continue
        left = wide[k:more][::-1]
        alike = quantile(left, 0.9) <= even * quantile(left, 0.1)
        if (alike or (volume[coarse] <= few * volume[level] and as_it)) and volume[level] < volume[best]:
            best = level
    return int(best)
