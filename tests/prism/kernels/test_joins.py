"""Compiled loops over a collective's records, against dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.kernels.joins import evened, followed


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.booleans()), min_size=1, max_size=40))
def test_collectives_end_where_all_edges_moved_the_same_share(some):
    number = {edge: i for i, edge in enumerate(dict.fromkeys(edge for edge, _, _ in some))}
    edge, octets = np.array([number[one] for one, _, _ in some]), np.array([size for _, size, _ in some])
    bounds = [0, *(i for i in range(1, len(some)) if some[i][2]), len(some)]
    total = np.bincount(edge, octets)
    cuts = [0]
    for bound in bounds[1:]:
        moved = np.bincount(edge[cuts[-1] : bound], octets[cuts[-1] : bound], len(total)) / total
        if bound == len(some) or (moved.min() > 0 and np.ptp(moved) <= 0.05 * moved.mean()):
            cuts.append(bound)
    assert evened(edge, octets, np.array(bounds), len(total), 0.05).tolist() == cuts


@given(st.data(), st.integers(0, 20))
def test_points_follow_the_last_of_those_before_them(data, n):
    own = [sorted(data.draw(st.sets(st.integers(0, i - 1), max_size=3))) if i else [] for i in range(n)]
    outer = [data.draw(st.integers(-1, i - 1)) for i in range(n)]
    gap, lag = (np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), float) for _ in range(2))
    out = []
    for i in range(n):
        at = max(out[p] for p in own[i]) + gap[i] if own[i] else 3.0 * i
        out.append(max(at, out[outer[i]] + lag[i]) if outer[i] >= 0 else at)
    before = np.array([p for points in own for p in points], np.int64)
    begins = np.cumsum([0, *(len(points) for points in own)])
    found = followed(3.0 * np.arange(n), gap, before, begins, np.array(outer, np.int64), lag)
    assert found.tolist() == out
