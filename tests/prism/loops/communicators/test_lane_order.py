"""Lanes that belong together, against loops over pairs of them."""

from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.edges import edge_from
from prism.loops.arrays.intervals import moved_within
from prism.loops.communicators.lane_order import (
    QUANTILES,
    by_burst,
    by_share,
    close,
    coincidences,
    coincides,
    course,
    homes_of,
    joins,
    no_marks,
    parting,
    side_by_side,
)
from prism.loops.communicators.pair_lockstep import alike

NONE = np.zeros(0, np.int64)


def test_where_gaps_part_bursts():
    assert parting(np.array([1, 2, 1, 50, 2, 60, 1, 55]), NONE) == 2
    assert parting(np.array([5, 5, 5, 5, 5, 5]), NONE) == 0
    assert parting(NONE, NONE) == 0
    steps_and_evaluations = np.array([200, 210, 200, 700, 205, 195, 710, 200, 690])
    assert parting(steps_and_evaluations, NONE) == 210
    assert parting(steps_and_evaluations, np.array([10])) == 0


@given(st.lists(st.one_of(st.integers(-5, 100), st.integers(0, 2**62)), max_size=30))
def test_gaps_part_bursts_where_sorted_ones_rise_most(gaps):
    known = np.sort([gap for gap in gaps if gap > 0])
    rise = (known[1:] / known[:-1])[: max(len(known) - 3, 0)]
    assert parting(np.array(gaps, np.int64), NONE) == (known[int(np.argmax(rise))] if len(rise) and rise.max() > 2 else 0)


lanes_of = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=40)


@given(lanes_of)
def test_the_course_of_a_lane_is_what_numpy_says(some):
    later, length, octets = (np.array(column, np.int64) for column in zip(*some, strict=True))
    start = np.cumsum(later)
    edge = edge_from((0, 1), np.arange(len(start)), start, start + length, octets)
    found, total, reach = course(*edge.moved, *edge.activity()), np.cumsum(octets), np.maximum.accumulate(edge.end)
    gap = np.maximum(start[1:] - reach[:-1], 0)
    known = np.sort(gap[gap > 0])
    rise = (known[1:] / known[:-1])[: max(len(known) - 3, 0)]
    line = known[int(np.argmax(rise))] if len(rise) and rise.max() > 2 else 0
    if line and rise.max() < 10 and known[0] > rise.max() * np.median(edge.end - edge.start):
        line = 0
    starts = start[np.concatenate([[True], gap > line])]
    assert parting(gap, edge.end - edge.start) == found.line == line
    assert by_share(start, octets, QUANTILES).tolist() == start[np.searchsorted(total, QUANTILES * total[-1])].tolist()
    assert by_burst(start, edge.end, found, QUANTILES).tolist() == starts[(QUANTILES * len(starts)).astype(int)].tolist()
    assert (found.bursts, found.octets) == (len(starts), total[-1])
    assert found.cadence == (np.median(np.diff(starts)) if len(starts) > 1 else edge.end.max() - start[0])
    assert close(side_by_side([edge]), no_marks(1, QUANTILES), 0, 0, found, found, 0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=9))
def test_lanes_that_pairs_join_have_one_home(pairs):
    homes = homes_of(np.array(pairs, np.int64).reshape(-1, 2), 10)
    while (homes[homes] != homes).any():
        homes = homes[homes]
    graph = nx.empty_graph(10)
    graph.add_edges_from(pairs)
    parts = {frozenset(np.flatnonzero(homes == home).tolist()) for home in homes}
    assert parts == {frozenset(part) for part in nx.connected_components(graph)}


def lane(number, some):
    later, length, octets = (np.array(column, np.int64) for column in zip(*some, strict=True))
    start = np.cumsum(later)
    return edge_from((0, number), np.arange(len(start)), start, start + length, octets)


def apart(one, other):
    """How far two lanes are from one another in time, in cadences; infinite where nothing can be compared."""
    a, b = (course(*edge.moved, *edge.activity()) for edge in (one, other))
    shares = (by_share(edge.start, edge.octets, QUANTILES) for edge in (one, other))
    bursts = (by_burst(edge.start, edge.end, told, QUANTILES) for edge, told in ((one, a), (other, b)))
    alike = abs(np.log(a.octets / b.octets)) <= 0.02, abs(a.bursts - b.bursts) <= 0.02 * max(a.bursts, b.bursts)
    far = [float(np.median(np.abs(x - y))) for (x, y), same in zip((shares, bursts), alike, strict=True) if same]
    return min(far, default=np.inf) / max(min(a.cadence, b.cadence), 1)


@given(lanes_of, lanes_of, st.floats(0, 3))
def test_lanes_that_are_close_are_not_far_apart(one, other, near):
    both = lane(0, one), lane(1, other)
    told = [course(*edge.moved, *edge.activity()) for edge in both]
    lanes, far, marks = side_by_side(both), apart(*both), no_marks(2, QUANTILES)
    assert close(lanes, marks, 0, 1, *told, near) == (far <= near)
    assert not np.isfinite(far) or close(lanes, marks, 0, 1, *told, far)


@given(st.lists(lanes_of, min_size=2, max_size=2), st.floats(0, 1))
def test_what_a_lane_moves_while_another_is_active(both, least):
    a, b = (lane(number, some) for number, some in enumerate(both))
    told, share = side_by_side([a, b]), moved_within(*a.moved, *b.activity())
    assert coincides(told, 0, 1) == share
    assert coincidences(told, np.array([[0, 1], [1, 0]])).tolist() == [min(share, coincides(told, 1, 0))] * 2
    assert coincides(told, 0, 1, least) == share or (coincides(told, 0, 1, least) == 0 and share < least)


@given(st.lists(lanes_of, min_size=1, max_size=6), st.sampled_from((0.15, 1.0)))
def test_lanes_belong_together_that_are_near_or_move_together(every, near):
    edges = [lane(number, some) for number, some in enumerate(every)]
    told = [course(*edge.moved, *edge.activity()) for edge in edges]
    active = {edge.key: edge.activity() for edge in edges}
    graph = nx.empty_graph(len(edges))
    for a, b in combinations(range(len(edges)), 2):
        if (
            apart(edges[a], edges[b]) <= near
            or (alike(edges[a], edges[b], active) - (busy := max(told[a].busy, told[b].busy))) / max(1 - busy, 1e-9) >= 0.5
        ):
            graph.add_edge(a, b)
    homes, own = np.arange(len(edges)), np.arange(len(edges))
    found = joins(side_by_side(edges), homes, own, np.array([0, len(own)]), QUANTILES, 0.5, near)
    known = nx.empty_graph(len(edges))
    known.add_edges_from(found.tolist())
    parts = {frozenset(part) for part in nx.connected_components(graph)}
    assert {frozenset(part) for part in nx.connected_components(known)} == parts
    assert len(found) == len(edges) - len(parts)
