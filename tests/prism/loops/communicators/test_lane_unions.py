"""Sets of lanes put together, against sorting what their lanes have."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.edges import edge_from
from prism.loops.arrays.intervals import union
from prism.loops.communicators.lane_order import side_by_side
from prism.loops.communicators.lane_unions import pooled

records = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=20)


@given(st.lists(st.lists(records, min_size=1, max_size=4), max_size=4), st.randoms())
def test_sets_of_lanes_put_together_are_what_their_lanes_are(sets, random):
    room = sum(len(lane) for own in sets for lane in own) + 7
    rows = iter(random.sample(range(room), room))
    lanes = []
    for own in sets:
        lanes.append([])
        for some in own:
            start, length, octets = np.array(sorted(some), np.int64).T.copy()
            lanes[-1].append(edge_from((0, 1), np.array([next(rows) for _ in some]), start, start + length, octets))
    every = [lane for own in lanes for lane in own]
    places = iter(range(len(every)))
    told = list(pooled(side_by_side(every), [[next(places) for _ in own] for own in lanes]))
    assert len(told) == len(lanes)
    for own, (found, busy) in zip(lanes, told, strict=True):
        assert found.tolist() == sorted(np.concatenate([lane.rows for lane in own]).tolist())
        there = union(*map(np.concatenate, zip(*(lane.activity() for lane in own), strict=True)))
        assert [part.tolist() for part in busy] == [part.tolist() for part in there]
