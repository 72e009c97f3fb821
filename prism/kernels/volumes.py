"""Loops over a stream's cuts, compiled: the commonest volume between them, and where strides of that volume end."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Ints
from prism.kernels.intervals import Floats
from prism.kernels.ordered import median, quantile
from prism.kernels.sums import counted

Places = NDArray[np.intp]


@compiled
def reached(cuts: Places, edge: Ints) -> Ints:
    """Octets before each cut (after a record, −1 is the stream's beginning); `edge` are those up to the end of each record."""
    out = np.zeros(len(cuts), np.int64)
    for i in range(len(cuts)):
        if cuts[i] >= 0:
            out[i] = edge[cuts[i]]
    return out


@compiled
def between(cuts: Places, edge: Ints) -> Ints:
    """Octets from each of some cuts to the next."""
    before = reached(cuts, edge)
    return before[1:] - before[:-1]


@compiled
def full(cuts: Places, edge: Ints, volume: int, tolerance: float) -> Places:
    """The cuts before and after each segment of a volume, each once."""
    moved = between(cuts, edge)
    taken = np.zeros(len(cuts), np.bool_)
    for i in range(len(moved)):
        if abs(moved[i] - volume) <= tolerance * volume:
            taken[i] = taken[i + 1] = True
    return cuts[taken]


@compiled
def strays(bounds: Places, edge: Ints, gap: Ints, wide: float, slack: float) -> int:
    """How many gaps of at least `wide` ns lie between some bounds, in order, at a place that less than half of the parts share.

    Places are octets since the bound before; they are the same within `slack`. Gaps before the first bound are left out.
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
    """Places of sorted volumes, first and past the last, within `tolerance` of one of them; and their sum, the greatest."""
    best, first, stop = -1, 0, 0
    low = high = below = above = 0
    for i in range(len(volume)):
        while volume[low] < volume[i] * (1 - tolerance):
            below += volume[low]
            low += 1
        while high < len(volume) and volume[high] < volume[i] * (1 + tolerance):
            above += volume[high]
            high += 1
        if above - below > best:
            best, first, stop = above - below, low, high
    return first, stop, best


@compiled
def _parted(cuts: Places, fresh: Places, edge: Ints, volume: Ints) -> tuple[Places, Ints]:
    """Cuts and the sorted volumes between them once there are `fresh` ones, in order, too."""
    gone, come = np.empty(len(fresh), np.int64), np.empty(2 * len(fresh), np.int64)
    out = np.empty(len(cuts) + len(fresh), np.intp)
    g = c = j = 0
    for i in range(len(cuts)):
        out[i + j] = cuts[i]
        before = begun = edge[cuts[i]] if cuts[i] >= 0 else 0
        parted = False
        while j < len(fresh) and i + 1 < len(cuts) and fresh[j] < cuts[i + 1]:
            come[c] = edge[fresh[j]] - before
            before, parted = edge[fresh[j]], True
            c += 1
            j += 1
            out[i + j] = fresh[j - 1]
        if parted:
            gone[g], come[c] = edge[cuts[i + 1]] - begun, edge[cuts[i + 1]] - before
            g += 1
            c += 1
    gone, come = np.sort(gone[:g]), np.sort(come[:c])
    sizes = np.empty(len(volume) - g + c, np.int64)
    n = g = c = 0
    for one in volume:
        if g < len(gone) and gone[g] == one:
            g += 1
            continue
        while c < len(come) and come[c] < one:
            sizes[n] = come[c]
            c += 1
            n += 1
        sizes[n] = one
        n += 1
    sizes[n:] = come[c:]
    return out, sizes


@compiled
def levels(
    edge: Ints, ranked: Places, wide: Ints, tolerance: float, least: int, worth: float, beyond: int, nearly: float
) -> tuple[Ints, Ints, Ints]:
    """Cuts at ever more of the largest gaps: how many, the commonest volume between them, the octets of such; int64[n] each.

    `ranked` are the places of the gaps, the largest first, `wide` how wide they are, ns. Levels that leave fewer than `least`
    equal volumes are left out. It ends where three in four of the gaps are no wider than `worth`, which once the share `nearly`
    is explained by `k` cuts rises to a quarter of theirs at `beyond` times as many.
    """
    number, common, sums = np.empty(len(wide), np.int64), np.empty(len(wide), np.int64), np.empty(len(wide), np.int64)
    most = n = enough = 0
    while most < len(wide) and wide[most] > 0:
        most += 1
    cuts, volume = np.array([-1, len(edge) - 1], np.intp), edge[-1:].copy()
    k = 2
    while k <= most and wide[k * 3 // 4] >= worth:
        cuts, volume = _parted(cuts, np.sort(ranked[len(cuts) - 2 : k]), edge, volume)
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
def nearest(gap: NDArray[Any], edge: Ints, low: int, high: int, goal: int, wide: float) -> int:
    """Which of the gaps from `low` to `high` ends a step: the nearest to the `goal` of those that are `wide`, else the widest.

    A rank that hangs when it has just begun the next step leaves a gap wider than the one after the step.
    """
    best, off, widest = -1, 0, low
    for i in range(low, high):
        away = abs(edge[i] - goal)
        if gap[i] >= wide and (best < 0 or away < off):
            best, off = i, away
        if gap[i] > gap[widest]:
            widest = i
    return best if best >= 0 else widest


@compiled
def _stride(goal: int, edge: Ints, gap: Ints, slack: int, usual: float) -> int:
    """The record near octet `goal` that ends a step there, before a gap of `usual` ns; −2 where none does.

    Both ends of the stream count as one.
    """
    if abs(goal) <= slack:
        return -1
    low, high = int(np.searchsorted(edge, goal - slack)), int(np.searchsorted(edge, goal + slack, side="right"))
    if goal < 0 or low >= high:
        return -2
    stop = min(high, len(gap))
    best = nearest(gap, edge, low, stop, goal, 4 * usual) if low < stop else low
    if high == len(edge) and not (low < stop and gap[low:stop].max() >= 4 * usual):
        return len(edge) - 1
    return best if gap[best] >= usual else -2


@compiled
def strode(edge: Ints, gap: Ints, cuts: Ints, volume: int, slack: int, usual: float) -> Ints:
    """Cuts (records, −1 is the stream's beginning) and all that strides of a volume reach from them, both ways; in order."""
    known = np.zeros(len(edge) + 1, np.bool_)
    known[cuts + 1] = True
    for way in (1, -1):
        for cut in np.flatnonzero(known)[::way] - 1:
            at = cut
            while True:
                reached = edge[at] if at >= 0 else 0
                stop = _stride(reached + way * volume, edge, gap, slack, usual)
                if stop < -1 or known[stop + 1]:
                    break
                known[stop + 1] = True
                at = stop
    return np.flatnonzero(known) - 1


@compiled
def threaded(reached: Ints, width: NDArray[Any], volume: int, slack: int, wide: float) -> NDArray[np.intp]:
    """To which run each cut belongs, by the first of them: the next cut of a run ends a full volume begun at the last.

    Where two runs come to one cut, it is of the one whose volume is nearer. `reached` are the octets before each cut, `width`
    the gaps there.
    """
    run, off = np.arange(len(reached)), np.full(len(reached), slack + 1)
    for i in range(len(reached)):
        goal = reached[i] + volume
        low, high = int(np.searchsorted(reached, goal - slack)), int(np.searchsorted(reached, goal + slack, side="right"))
        if low < high:
            best = nearest(width, reached, low, high, goal, wide)
            if abs(reached[best] - goal) < off[best]:
                run[best], off[best] = run[i], abs(reached[best] - goal)
    return run


@compiled
def gaps(start: Ints, end: Ints, octets: Ints) -> tuple[Ints, Ints]:
    """Octets sent up to the end of each record (int64[n]) and the gap after each of them but the last (int64[n-1], ns)."""
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
    """Of some `levels`, the coarsest first, that of the least volume of those as wide as the first (`rhythm._as_wide`).

    `number` and `volume` are how many gaps each of all levels cuts at and what is moved between, `wide` all gaps, falling.
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


@compiled
def gives_way(run: Places, other: Places, before: Ints, width: Floats, silence: Ints, slack: int) -> bool:
    """Whether a run of cuts leaves room for another one: they share no octets, or it gives up one end that is the other's.

    That is so if the other's gaps are wider there, and the `silence` that parts them, ns, is no shorter than any at their cuts.
    By cut: `before` octets before it, `width` the gap there for a weight.
    """
    if not len(run):
        return True
    begin, stop = max(before[run[0]], before[other[0]]), min(before[run[-1]], before[other[-1]])
    if stop <= begin + slack:
        return True
    first, last = before[other[0]] <= before[run[0]] + slack, before[other[-1]] >= before[run[-1]] - slack
    parted = run[np.searchsorted(before[run], before[other[-1]] - slack)] if first and not last else other[0]
    sums, longest = np.zeros(2), 0
    for k, cuts in enumerate((run, other)):
        for i in cuts:
            sums[k] += width[i] if begin - slack <= before[i] <= stop + slack else 0.0
            longest = max(longest, silence[i])
    return bool(first != last and sums[1] > sums[0] and silence[parted] >= longest)


@compiled
def share_out(
    held: Ints, stop: Ints, ranked: Places, order: Places, before: Ints, width: Floats, silence: Ints, slack: int
) -> None:
    """Leave of runs, which are `held` to `stop` in an `order` of cuts, what is taken of each; the first `ranked` go first."""
    for r in range(len(ranked)):
        own = order[held[ranked[r]] : stop[ranked[r]]]
        free = True
        for k in ranked[:r]:
            free = free and gives_way(order[held[k] : stop[k]], own, before, width, silence, slack)
        if not free:
            stop[ranked[r]] = held[ranked[r]]
            continue
        for k in ranked[:r]:
            while held[k] < stop[k] and before[own[0]] <= before[order[held[k]]] + slack < before[own[-1]]:
                held[k] += 1
            while held[k] < stop[k] and before[own[0]] < before[order[stop[k] - 1]] - slack <= before[own[-1]]:
                stop[k] -= 1


@compiled
def completed(cuts: Ints, edge: Ints, gap: Ints, volume: int, slack: int) -> Ints:
    """Cuts that end a full volume begun at another cut; of runs that lie over one another, the one with the wider gaps.

    A pause inside the step (a pipeline's bubble) may stand a full volume from the next one too. A run that goes on after a
    restart may reach back, by narrow gaps, over steps from before it: it gives that end up (`gives_way`).
    """
    before, silence = reached(cuts, edge), np.empty(len(cuts), np.int64)
    widest = gap.max() if len(gap) else 0
    for i in range(len(cuts)):
        silence[i] = gap[max(cuts[i], 0)] if max(cuts[i], 0) < len(gap) else widest
    width = np.minimum(silence, 2 * median(silence))  # a few hangs at the same place of a step outweigh no step
    run = threaded(before, width, volume, slack, median(width) / 2)
    order, begins = counted(run, len(run), np.arange(len(run)))
    firsts = np.flatnonzero(begins[1:] - begins[:-1] > 1)
    sums = np.zeros(len(firsts))
    for k in range(len(firsts)):
        for i in order[begins[firsts[k]] : begins[firsts[k] + 1]]:
            sums[k] += width[i]
    held, stop, ranked = begins[firsts], begins[firsts + 1], np.argsort(-sums, kind="mergesort")
    share_out(held, stop, ranked, order, before, width, silence, slack)
    out, n = np.empty(len(cuts), np.int64), 0
    for k in range(len(firsts)):
        for i in order[held[k] + 1 : stop[k]]:
            out[n] = cuts[i]
            n += 1
    return np.sort(out[:n])


@compiled
def filled(start: Ints, end: Ints, edge: Ints, gap: Ints, cuts: Places, volume: int, tolerance: float, last: int) -> Ints:
    """The gaps, begin and end, after the steps that `cuts` end, and those ends that they missed; int64[n, 2].

    Missed ones are found in strides of one `volume`. What follows upon the last record begins at `last`.
    """
    slack = int(volume * tolerance)
    cuts = full(cuts, edge, volume, tolerance)
    usual = median(gap[cuts[(cuts >= 0) & (cuts < len(gap))]]) / 8
    found = completed(strode(edge, gap, cuts, volume, slack, usual), edge, gap, volume, slack)
    quiet = np.empty((len(found), 2), np.int64)
    done, at = end[0], 0
    for i in range(len(found)):
        while at <= found[i]:
            done = max(done, end[at])
            at += 1
        quiet[i, 0] = done
        quiet[i, 1] = max(start[found[i] + 1] if found[i] + 1 < len(start) else last, done)
    return quiet
