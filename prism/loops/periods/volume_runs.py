"""Compiled loops over strides of one volume: the gaps of a stream that end its steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops.arrays.group_sums import counted
from prism.loops.arrays.intervals import Floats
from prism.loops.arrays.medians import median
from prism.loops.periods.cut_volumes import full, reached

Places = NDArray[np.intp]


@compiled
def nearest(gap: NDArray[Any], edge: Ints, low: int, high: int, goal: int, wide: float) -> int:
    """Return the gap from `low` to `high` that ends a step: the nearest to `goal` of those that are `wide`, else the widest.

    A rank that hangs right after the begin of a step leaves a wider gap than the one after the step.
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
    """Return the record near octet `goal` that ends a step there, before a gap of `usual` ns; −2 if there is none.

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
    """Return cuts (records; −1 is the stream's begin) and all records that strides of a volume reach from them, in both
    directions.
    """
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
    """Return the run of each cut, by its first cut: the next cut of a run ends a full volume that began at the previous one.

    If two runs reach one cut, it belongs to the one with the nearer volume. `reached`: octets before each cut. `width`: gaps
    there.
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
def gives_way(run: Places, other: Places, before: Ints, width: Floats, silence: Ints, slack: int) -> bool:
    """Check whether a run of cuts leaves room for another: they share no octets, or it gives up one end to the other.

    It does if the other's gaps are wider there, and the `silence` between them, ns, is no shorter than any at their cuts. By
    cut: `before`: octets before it; `width`: its gap, as weight.
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
    """Reduce runs, at `held` to `stop` in an `order` of cuts, to what no earlier run takes; first `ranked` runs have
    priority.
    """
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
    """Select cuts that end a full volume that began at another cut; of overlapping runs, the one with wider gaps.

    A pause inside the step (a pipeline's bubble) may be a full volume from the next one, too. A run that continues after a
    restart may reach back, by narrow gaps, over steps from before it: it gives up that end (`gives_way`).
    """
    before, silence = reached(cuts, edge), np.empty(len(cuts), np.int64)
    widest = gap.max() if len(gap) else 0
    for i in range(len(cuts)):
        silence[i] = gap[max(cuts[i], 0)] if max(cuts[i], 0) < len(gap) else widest
    width = np.minimum(silence, 2 * median(silence))  # a few hangs at one position of a step do not outweigh a step
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
    """Gaps, begin and end, after the steps that `cuts` end, and after step ends that they missed; int64[n, 2].

    Missed ends are found in strides of one `volume`. The gap after the last record begins at `last`.
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
