"""Places of steps on the traffic clock: a sequence in which distances vary."""

from __future__ import annotations

import numpy as np

from collectors.columns.record import Ints
from collectors.compilation.compiled import compiled
from prism.loops.arrays.intervals import Floats


def best_sequence(like: Floats, apart: Ints, cost: Floats, interruption: float) -> Ints:
    """Find the sequence of places with the highest sum of `like` less the cost of distances (dynamic programming).

    Parameters
    ----------
    like:
        What a place is worth, float64[bins].
    apart:
        Distances in bins that two consecutive places may have, ascending, at least 1.
    cost:
        What each of these distances costs, float64.
    interruption:
        What any longer distance costs.

    Returns
    -------
    places:
        Ascending, int64.
    """
    before, last = _sequence(like, apart, cost, interruption)
    places = [last]
    while before[places[-1]] >= 0:
        places.append(int(before[places[-1]]))
    return np.array(places[::-1])


@compiled
def _sequence(like: Floats, apart: Ints, cost: Floats, interruption: float) -> tuple[Ints, int]:
    """Place before each in its `best_sequence`, or -1, and the last place of the best one."""
    low = apart[0]
    total, before = like.copy(), np.full(len(like), -1)
    other = 0  # the best place that lies a distance or more before those that are looked at
    for begin in range(low, len(like), low):  # places less than the shortest distance apart do not depend on each other
        for place in range(max(begin - 2 * low + 1, 0), begin - low + 1):
            if total[place] > total[other]:
                other = place
        for place in range(begin, min(begin + low, len(like))):
            gain, origin = total[other] - interruption, other
            best, nearest = -np.inf, -1
            for k in range(len(apart)):
                source = place - apart[k]
                if source < 0:
                    break
                value = total[source] - cost[k]
                if value > best:
                    best, nearest = value, source
            if best >= gain:
                gain, origin = best, nearest
            if gain > 0:
                total[place] += gain
                before[place] = origin
    return before, int(np.argmax(total))
