"""Places of steps on the traffic clock: a sequence in which distances vary."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops import constants as c
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
        What this distance and each longer one costs, float64.
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
    most = np.full(len(like) // c.BLOCK + 1, -np.inf)  # highest total of each block of places
    other = 0  # the best place that lies a distance or more before those that are looked at
    for begin in range(low, len(like), low):  # places less than the shortest distance apart do not depend on each other
        for place in range(begin - low, begin):
            most[place // c.BLOCK] = max(most[place // c.BLOCK], total[place])
        for place in range(max(begin - 2 * low + 1, 0), begin - low + 1):
            if total[place] > total[other]:
                other = place
        for place in range(begin, min(begin + low, len(like))):
            gain, origin = total[other] - interruption, other
            best, nearest, k = -np.inf, -1, 0
            while k < len(cost) and place - low - k >= 0:
                source = place - low - k
                after = min(k + source % c.BLOCK + 1, len(cost))
                if most[source // c.BLOCK] > best:
                    for i in range(k, after):
                        value = total[place - low - i] - cost[i]
                        if value > best:
                            best, nearest = value, place - low - i
                k = after
            if best >= gain:
                gain, origin = best, nearest
            if gain > 0:
                total[place] += gain
                before[place] = origin
    return before, int(np.argmax(total))
