import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.edges import edge_from, edges_of, laid_out, sending, spread
from tests.prism.traffic import MS, SECOND, T0, Wire


def edge(rows):
    """One edge of records (start ms, length ms, octets)."""
    wire = Wire()
    wire.rows = [
        {"start_ns": T0 + int(at * MS), "end_ns": T0 + int((at + length) * MS), "src": 0, "dst": 1, "octets": octets}
        for at, length, octets in rows
    ]
    return edges_of(wire.flows())[0, 1]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 50)), max_size=40))
def test_edges_hold_every_record_once_in_order_of_sending(records):
    wire = Wire()
    for src, dst, at in records:
        wire.send(src, dst, 1000, T0 + at)
    flows = wire.flows()
    edges = edges_of(flows)
    assert sorted(np.concatenate([e.rows for e in edges.values()]).tolist() if edges else []) == list(range(len(records)))
    for (src, dst), one in edges.items():
        assert (one.src, one.dst) == (src, dst)
        assert (flows.src[one.rows] == src).all()
        assert (flows.dst[one.rows] == dst).all()
        assert (np.diff(one.start) >= 0).all()
        assert one.volume == 1000 * len(one.rows)


def test_only_the_given_rows():
    wire = Wire()
    for k in range(4):
        wire.send(0, 1 + k % 2, 1000, T0 + k * MS)
    assert {key: e.rows.tolist() for key, e in edges_of(wire.flows(), np.array([0, 2, 3])).items()} == {
        (0, 1): [0, 2],
        (0, 2): [3],
    }


def test_a_burst_of_one_packet_began_before_it_was_seen():
    wire = Wire()
    wire.send(0, 1, 1000, T0, busy_ns=500, end_ns=T0, start_ns=T0)
    wire.send(0, 1, 1000, T0, busy_ns=500, start_ns=T0 + 10, end_ns=T0 + 900)
    assert sending(wire.flows()).tolist() == [T0 - 500, T0 + 10]


def test_a_record_s_pace_closes_its_edge_s_gaps():
    one = edge([(0, 8, 1000), (9, 8, 1000), (30, 8, 1000), (70, 0, 1)])
    assert [t.tolist() for t in one.activity()] == [
        [T0, T0 + 30 * MS, T0 + 70 * MS],
        [T0 + 17 * MS, T0 + 38 * MS, T0 + 70 * MS],
    ]


def test_spread_counts_the_parts_of_life_that_matter():
    life = (T0, T0 + SECOND)
    assert spread(edge([(at, 1, 1000) for at in range(0, 1000, 10)]), life) == pytest.approx(20)
    assert spread(edge([(500, 1, 1000)]), life) == 1
    assert spread(edge([(100, 1, 1000), (900, 1, 1000)]), life) == 2


moves = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.sampled_from((1 << 20, 1 << 21))), min_size=1, max_size=12)


@given(st.lists(st.tuples(st.integers(-5, 50), st.integers(0, 9)), min_size=1, max_size=30))
def test_how_far_octets_are_spread_is_the_inverse_of_their_squared_shares(some):
    start, octets = (np.array(column, np.int64) for column in zip(*some, strict=True))
    edge = edge_from((0, 1), np.arange(len(start)), start, start + 1, octets)
    parts = np.bincount(np.clip(start * 20 // 40, 0, 19), weights=octets, minlength=20) / max(octets.sum(), 1)
    assert spread(edge, (0, 40)) == pytest.approx(1 / max((parts**2).sum(), 1e-12))


crowds = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 40), st.integers(0, 5), st.integers(1, 9)), max_size=60
)


def crowd(records):
    """Edges between few endpoints of records (sender, receiver, start, length, octets)."""
    wire = Wire()
    for src, dst, at, length, octets in records:
        wire.send(src, dst, 1000 * octets, T0 + at * MS, end_ns=T0 + (at + length) * MS)
    return edges_of(wire.flows())


def naively_recurring(edges):
    """Against the heaviest edge at either end, of which the lighter counts: in its life, a quarter as wide as it."""
    for key, one in edges.items():
        heaviest = []
        for end in key:
            own = [other for other in edges.values() if end in other.key]
            heaviest.append(max(own, key=lambda other: other.volume))
        model = min(heaviest, key=lambda other: other.volume)
        life = int(model.start[0]), int(model.end.max())
        if len(one.rows) >= 3 and spread(one, life) >= max(0.25 * spread(model, life), 1.5):
            yield key


@given(crowds, crowds)
def test_edges_that_do_not_lie_together_are_laid_out_on_end(some, others):
    edges = [*crowd(some).values(), *crowd(others).values()]
    of, low, high = laid_out(edges)
    for one, a, b in zip(edges, low, high, strict=True):
        assert [column[a:b].tolist() for column in of] == [column.tolist() for column in (one.rows, *one.moved)]


def test_an_edge_of_some_of_its_records():
    one = edge([(0, 8, 1000), (9, 8, 2000), (30, 8, 4000)])
    assert one.volume == 7000
    some = one.only(np.array([True, False, True]))
    assert (some.key, some.volume, some.rows.tolist()) == ((0, 1), 5000, [0, 2])
