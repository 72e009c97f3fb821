"""Loops over the gaps of a stream, compiled: which octets later they are the same again, and where their pattern turns."""

from __future__ import annotations

import numpy as np

from collectors.compilation.compiled import compiled
from prism.kernels.intervals import Floats, Ints, at_half
from prism.kernels.ordered import median


@compiled
def _merged(values: Floats, begins: Ints) -> Floats:
    """The values of ascending runs, of which each begins there and the last ends, in ascending order; both are used up."""
    other, runs = np.empty_like(values), len(begins) - 1
    while runs > 1:
        for run in range(0, runs, 2):
            i, stop, end = begins[run], begins[run + 1], begins[min(run + 2, runs)]
            at, j = i, stop
            while i < stop and j < end:
                first = values[i] <= values[j]
                other[at] = values[i] if first else values[j]
                i += first
                j += not first
                at += 1
            other[at : at + stop - i] = values[i:stop]
            other[at + stop - i : end] = values[j:end]
            begins[run // 2] = begins[run]
        begins[(runs + 1) // 2] = begins[runs]
        runs = (runs + 1) // 2
        values, other = other, values
    return values


@compiled
def recurring_lags(place: Floats, anchors: Ints, slack: float, longest: float) -> Floats:
    """Distances from some of the gaps to all others that recur, ascending: those of which three follow within `slack` each."""
    apart, begins = np.empty(len(place) * len(anchors)), np.zeros(len(anchors) + 1, np.int64)
    n = 0
    for k in range(len(anchors)):
        for one in place[anchors[k] :]:
            off = one - place[anchors[k]]
            if off > longest:
                break
            if off > 4 * slack:
                apart[n] = off
                n += 1
        begins[k + 1] = n
    apart = _merged(apart[:n], begins)
    out, found, first = np.empty(n), 0, 0
    for i in range(1, n + 1):
        if i == n or apart[i] - apart[i - 1] > slack:
            if i - first >= 3:
                out[found] = (apart[(first + i - 1) // 2] + apart[(first + i) // 2]) / 2
                found += 1
            first = i
    return out[:found].copy()


@compiled
def _same(
    place: Floats, width: Floats, lag: float, slack: float, apart: Floats, weight: Floats, left: Floats, least: float
) -> tuple[int, float]:
    """How much of the gaps is the same `lag` octets later; into `apart` and `weight` how much later it is, and how much, of
    so many gaps.

    It is looked at no further once it cannot be as much as `least`: `left` is the width of each gap and all after it.
    """
    n, same, both = 0, 0.0, 0.0
    at, last, one = np.uint64(1), np.uint64(len(place) - 1), np.uint64(1)
    for i in range(len(place)):
        goal = place[i] + lag
        if goal > place[last] + slack or same + left[i] < least * (both + left[i]):
            break
        while at < last and place[at] < goal:
            at += one
        over, under = abs(place[at] - goal), abs(place[at - one] - goal)
        later = over < under  # no branches
        there, wide = place[at] if later else place[at - one], width[at] if later else width[at - one]
        own, other = width[i], wide if min(over, under) <= slack else 0.0
        apart[n], weight[n] = there - place[i], min(own, other)
        same += min(own, other)
        both += max(own, other)
        n += 1
    return n, same / both if both > 0 else 0.0


@compiled
def likenesses(place: Floats, width: Floats, lags: Floats, slack: float, least: float, near: float) -> Floats:
    """How much of the gaps is the same each of some lags later, 0 … 1.

    Where that is less than `least`, or than the share `near` of the most so far, something less than it.
    """
    apart, weight = np.empty(len(place)), np.empty(len(place))
    left = np.cumsum(width[::-1])[::-1].copy()
    out = np.empty(len(lags))
    for k in range(len(lags)):
        _, out[k] = _same(place, width, lags[k], slack, apart, weight, left, least)
        least = max(least, near * out[k])
    return out


@compiled
def exact(place: Floats, width: Floats, lag: float, slack: float) -> float:
    """A lag as the gaps that are the same have it: the median, by their width."""
    apart, weight = np.empty(len(place)), np.empty(len(place))
    n, _ = _same(place, width, lag, slack, apart, weight, np.zeros(len(place)), 0.0)
    return at_half(apart[:n], weight[:n]) if n else 0.0


@compiled
def medians(offset: Floats, width: Floats, wide: float, least: float) -> tuple[Floats, Floats]:
    """The median offset and width of each run of gaps, in order of `offset`, that more than `wide` parts from the next, and
    that has at `least` so many.
    """
    at, size = np.empty(len(offset)), np.empty(len(offset))
    n = first = 0
    for i in range(1, len(offset) + 1):
        if i == len(offset) or offset[i] - offset[i - 1] > wide:
            if i - first >= least:
                at[n], size[n] = median(offset[first:i]), median(width[first:i])
                n += 1
            first = i
    return at[:n].copy(), size[:n].copy()


@compiled
def _sums(width: Floats, part: int, parts: int) -> Floats:
    """How many of every `parts`-th number from `part` on come before each place, their sum and that of their squares."""
    out = np.zeros((len(width) + 1, 3))
    for i in range(len(width)):
        out[i + 1] = out[i]
        if i % parts == part:
            out[i + 1, 0] += 1.0
            out[i + 1, 1] += width[i]
            out[i + 1, 2] += width[i] * width[i]
    return out


@compiled
def _rest(sums: Floats, begin: int, end: int) -> float:
    """The squared distance of a range of numbers from their mean."""
    count, total = sums[end, 0] - sums[begin, 0], sums[end, 1] - sums[begin, 1]
    return float((sums[end, 2] - sums[begin, 2]) - total * total / max(count, 1.0))


@compiled
def turns(
    place: Floats, width: Floats, lag: float, parts: int, least: int, higher: float, even: float, low: float, high: float
) -> tuple[Floats, Floats, Floats]:
    """For each gap of a step that may end it: what its best split leaves around the means of its runs, which share of all that
    is, and which share of the octets moves forward in it.

    Infinite where there is none. `place` and `width` are of two steps; see `sharded._split`.
    """
    n = len(width) // 2
    rest, uneven, moved = np.full(n, np.inf), np.full(n, np.inf), np.full(n, np.inf)
    whole = _sums(width, 0, 1)
    sums = [_sums(width, part, parts) for part in range(parts)]
    for first in range(n if n >= 2 * least + 2 else 0):
        a, d = first + 1, first + n
        for turn in range(a + least, d - least):
            share = (place[turn] - place[first]) / lag
            if share < low or share > high:
                continue
            b = turn + 1
            around = 0.0
            for one in sums:
                around += _rest(one, a, turn)
                around += _rest(one, b, d)
            count = (whole[turn, 0] - whole[a, 0]) + (whole[d, 0] - whole[b, 0])
            before, after = whole[turn, 1] - whole[a, 1], whole[d, 1] - whole[b, 1]
            total = before + after
            square = (whole[turn, 2] - whole[a, 2]) + (whole[d, 2] - whole[b, 2])
            spread = square - total * total / count
            fits = after / (d - b) - before / (turn - a) >= higher and around <= even * spread
            if fits and around < rest[first]:
                rest[first], uneven[first], moved[first] = around, around / spread, share
    return rest, uneven, moved
