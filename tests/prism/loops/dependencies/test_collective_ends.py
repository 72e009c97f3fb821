"""Test compiled loops over a collective's records against dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.dependencies.collective_ends import acted_before, bounded, evened, followed, ranged, tied


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
    before = np.array([p for points in own for p in points], np.int32)
    begins = np.cumsum([0, *(len(points) for points in own)])
    found = followed(3.0 * np.arange(n), gap, before, begins, np.array(outer, np.int64), lag)
    assert found.tolist() == out


points = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 1), st.booleans(), st.integers(0, 9)), max_size=24
)


@given(points)
def test_bounds_are_medians_of_the_clear_ones(some):
    rank, op, kind, shaded, gap = (np.array(column) for column in (zip(*some, strict=True) if some else [[]] * 5))
    found, shaded = gap.astype(np.float64), shaded.astype(np.bool_)
    bounded(found, shaded, rank.astype(np.int32), op.astype(np.int32), kind.astype(np.int8))
    for i, own in enumerate(gap.tolist()):
        like = (op == op[i]) & (kind == kind[i]) & ~shaded
        clear = like & (rank == rank[i]) if (like & (rank == rank[i])).any() else like
        assert found[i] == (min(own, np.median(gap[clear])) if shaded[i] and clear.any() else own)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2))))
def test_what_is_of_one_moment_comes_in_order(some):
    time, first = (np.array([one[i] for one in some], np.int64) for i in range(2))
    order = np.argsort(time, kind="stable")
    tied(order, time, first)
    assert order.tolist() == np.lexsort((first, time)).tolist()


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(-1, 2), st.integers(0, 2), st.booleans())))
def test_when_peers_had_acted(some):
    some = sorted(some, key=lambda one: one[0])
    time, who, peer, asks = (np.array([one[i] for one in some], np.int64) for i in range(4))
    found = acted_before(time, who.astype(np.int32), np.flatnonzero(asks), peer.astype(np.int32), 3)
    for at, other, asked, out in zip(time, peer, asks, found, strict=True):
        assert out == (max(time[(who == other) & (time < at)], default=0) if asked else 0)


@given(st.lists(st.lists(st.integers(0, 3), max_size=3)))
def test_ranges_are_in_order(some):
    bounds = np.cumsum([0, *map(len, some)])
    assert ranged(np.array([value for own in some for value in own], np.int64), bounds) == all(
        own == sorted(own) for own in some
    )
