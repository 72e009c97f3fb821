import numpy as np
import pytest

from prism.loops.periods.step_places import best_sequence


def plainly_followed(like, apart, cost, interruption):
    """The same by what it says: each place after each one before it."""
    total, before = list(like), [-1] * len(like)
    low = int(apart[0])
    for place in range(low, len(like)):
        begin = place // low * low  # places of a block do not depend on each other
        ways = [(total[place - a] - c, place - a) for a, c in zip(apart.tolist(), cost.tolist(), strict=True) if a <= place]
        earlier = range(begin - low + 1)
        ways.append((max(total[p] for p in earlier) - interruption, max(earlier, key=lambda p: total[p])))
        gain, origin = max(ways, key=lambda way: way[0])
        if gain > 0:
            total[place], before[place] = like[place] + gain, origin
    out = [int(np.argmax(total))]
    while before[out[-1]] >= 0:
        out.append(before[out[-1]])
    return out[::-1]


@pytest.mark.parametrize("bins", [2, 7, 40])
@pytest.mark.parametrize("hole", [0, 60])
def test_the_best_sequence_is_as_a_plain_search_finds_it(bins, hole):
    rng = np.random.default_rng(bins)
    like = rng.normal(0, 0.2, 400) + np.exp(-0.5 * ((np.arange(400) % bins - bins / 2) / (bins / 10)) ** 2)
    like[150 : 150 + hole] = -0.5
    apart = np.arange(max(int(0.6 * bins), 1), int(1.4 * bins) + 2)
    cost = ((apart / bins - 1) / 0.1) ** 2
    found = best_sequence(like, int(apart[0]), cost, 1.0)
    assert found.tolist() == plainly_followed(like, apart, cost, 1.0)
    inside = np.diff(found)[(found[1:] < 150) | (found[:-1] >= 150 + hole)]
    assert np.mean(np.abs(inside - bins) <= 0.2 * bins + 1) > 0.9
