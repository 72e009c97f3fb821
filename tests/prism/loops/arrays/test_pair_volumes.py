import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.edges import edges_of
from prism.loops.arrays.pair_volumes import carried, widths
from tests.prism.traffic import MS, T0, Wire

records = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 40), st.integers(0, 5), st.integers(1, 9)), max_size=60
)


def flows_of(some):
    """Records (sender, receiver, start, length, octets) between few endpoints."""
    wire = Wire()
    for src, dst, at, length, octets in some:
        wire.send(src, dst, 1000 * octets, T0 + at * MS, end_ns=T0 + (at + length) * MS)
    return wire.flows()


def among_all(flows, skipped):
    return carried(flows, skipped, np.ones(max(len(flows.endpoints), 4), np.bool_))


@given(records, st.data())
def test_pairs_carry_what_their_edges_do(some, data):
    flows = flows_of(some)
    skipped = np.array(data.draw(st.lists(st.booleans(), min_size=len(flows), max_size=len(flows))), np.bool_)
    known = among_all(flows, skipped)
    edges = edges_of(flows, np.flatnonzero(~skipped & (flows.src != flows.dst)))
    assert list(zip(known.src.tolist(), known.dst.tolist(), strict=True)) == list(edges)
    assert known.volume.tolist() == [edge.volume for edge in edges.values()]
    assert known.records.tolist() == [len(edge.rows) for edge in edges.values()]
    assert known.first.tolist() == [int(edge.start.min()) for edge in edges.values()]
    assert known.last.tolist() == [int(edge.end.max()) for edge in edges.values()]
    for k, edge in enumerate(edges.values()):
        assert known.rows(np.arange(len(known)) == k).tolist() == sorted(edge.rows.tolist())


def test_those_not_requested_carry_nothing():
    flows = flows_of([(0, 1, 0, 1, 5), (1, 2, 1, 1, 5), (1, 0, 2, 1, 5)])
    known = carried(flows, np.zeros(3, np.bool_), np.array([True, True, False]))
    assert (known.src.tolist(), known.dst.tolist(), known.number.tolist()) == ([0, 1], [1, 0], [0, 2, 1])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-5, 50), st.integers(0, 9)), max_size=30))
def test_widths_are_the_inverse_of_squared_shares(some):
    number, start, octets = (np.array(column, np.int64) for column in zip(*some, (2, 0, 0), strict=True))
    found = widths(number.astype(np.int32), start, octets, np.array([0, 10]), np.array([40, 50]), 20)
    for k, low in enumerate((0, 10)):
        own = number == k
        parts = np.bincount(np.clip((start[own] - low) * 20 // 40, 0, 19), weights=octets[own], minlength=20)
        assert found[k] == pytest.approx(1 / max(((parts / max(parts.sum(), 1)) ** 2).sum(), 1e-12))
