"""Places of steps on the traffic clock: a sequence in which distances vary."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Floats


def best_sequence(like: Floats, shortest: int, cost: Floats, interruption: float) -> Ints:
    """Find the sequence of places with the highest sum of `like` less the cost of distances (dynamic programming).

    Parameters
    ----------
    like:
        What a place is worth, float64[bins].
    shortest:
        Shortest distance that two consecutive places may have, in bins, at least 1.
    cost:
        What this distance and each longer one costs, float64: least at the usual distance, and more the farther from it.
    interruption:
        What any longer distance costs.

    Returns
    -------
    places:
        Ascending, int64.
    """
    before, last = _sequence(like, shortest, cost, interruption)
    places = [last]
    while before[places[-1]] >= 0:
        places.append(int(before[places[-1]]))
    return np.array(places[::-1])


@compiled
def _sequence(like: Floats, low: int, cost: Floats, interruption: float) -> tuple[Ints, int]:
    """Place before each in its `best_sequence`, or -1, and the last place of the best one."""
    total, before = like.copy(), np.full(len(like), -1)
    most = np.full((len(like) >> 4) + 1, -np.inf)  # highest total of each 16 places
    usual = int(np.argmin(cost))
    other = 0  # the best place that lies a distance or more before those that are looked at
    for begin in range(low, len(like), low):  # places less than the shortest distance apart do not depend on each other
        for place in range(begin - low, begin):
            most[place >> 4] = max(most[place >> 4], total[place])
        for place in range(max(begin - 2 * low + 1, 0), begin - low + 1):
            if total[place] > total[other]:
                other = place
        for place in range(begin, min(begin + low, len(like))):
            gain, origin = total[other] - interruption, other
            best, nearest = _origin(total, most, cost, place - low, usual)
            if best >= gain:
                gain, origin = best, nearest
            if gain > 0:
                total[place] += gain
                before[place] = origin
    return before, int(np.argmax(total))


@compiled
def _origin(total: Floats, most: Floats, cost: Floats, nearby: int, usual: int) -> tuple[float, int]:
    """Find the place up to `nearby` with the highest total less the cost of its distance; also return this difference.

    Of 16 places that cannot be the best, for their highest total `most` and least cost, none is looked at.
    """
    best, nearest, k = -np.inf, -1, 0
    least = total[nearby - usual] - cost[usual] if nearby >= usual else -np.inf
    while k < len(cost) and nearby >= k:
        after = min(k + (nearby - k & 15) + 1, len(cost))
        highest = most[nearby - k >> 4] - (cost[usual] if k <= usual < after else min(cost[k], cost[after - 1]))
        if highest > best and highest >= least:
            for i in range(k, after):
                value = total[nearby - i] - cost[i]
                if value > best:
                    best, nearest = value, nearby - i
        k = after
    return best, nearest
