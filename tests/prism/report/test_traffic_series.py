from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.model import PHASES, Spans
from prism.report._traffic_series import octets_per_bin, transfers

PP, DP = PHASES.index("pp"), PHASES.index("dp")


def spans(rows):
    """Both ends of records (start, end, src, dst, octets, phase)."""
    columns = np.array(rows, np.int64).reshape(-1, 6)
    start, end, src, dst, octets, phase = (np.concatenate([column, column]) for column in columns.T)
    n = len(rows)
    rank, peer = np.concatenate([src[:n], dst[n:]]), np.concatenate([dst[:n], src[n:]])
    octets = octets * np.repeat([1, -1], n)
    return Spans(start, end, rank.astype(np.int32), phase.astype(np.int8), peer.astype(np.int32), octets)


records = st.tuples(st.integers(0, 1000), st.integers(0, 100), st.integers(0, 10**9))


@given(st.lists(records, max_size=20), st.integers(1, 12))
def test_all_that_is_moved_is_moved_at_some_time(rows, parts):
    start, length, octets = np.array(rows, np.int64).reshape(-1, 3).T
    edges = np.linspace(-10, 1200, parts + 1).astype(np.int64)
    got = octets_per_bin(start, start + length, octets, edges)
    assert got.shape == (parts,)
    assert got.sum() == pytest.approx(octets.sum(), rel=1e-9, abs=1e-3)
    # the slow twin: each span by itself
    want = [
        sum(o * max(min(s + max(n, 1), b) - max(s, a), 0) / max(n, 1) for s, n, o in zip(start, length, octets, strict=True))
        for a, b in pairwise(edges)
    ]
    assert got == pytest.approx(want, rel=1e-6, abs=1e-3 + 1e-9 * float(octets.sum()))


def test_a_span_moves_evenly():
    assert octets_per_bin(np.array([0]), np.array([100]), np.array([1000]), np.array([0, 25, 100, 200])).tolist() == [
        250,
        750,
        0,
    ]


def test_each_end_of_a_transfer_finds_the_other():
    made = spans([(0, 10, 0, 1, 500, PP), (5, 25, 1, 0, 700, PP), (0, 10, 0, 1, 500, PP), (0, 50, 0, 1, 900, DP)])
    sent, given_to = transfers(made, "pp", max_transfers=10)
    assert sent.tolist() == [1, 0, 2]  # the longest first
    assert sorted(given_to.tolist()) == [4, 5, 6]
    assert (made.rank[sent] == made.peer[given_to]).all()
    assert (made.octets[sent] == -made.octets[given_to]).all()
    assert transfers(made, "pp", max_transfers=1)[0].tolist() == [1]


def test_a_transfer_of_which_an_end_is_missing_is_none():
    made = spans([(0, 10, 0, 1, 500, PP), (3, 3, 0, 1, 500, PP)])
    one_side = Spans(*(column[:2] for column in (made.start_ns, made.end_ns, made.rank, made.phase, made.peer, made.octets)))
    assert len(transfers(one_side, "pp", max_transfers=10)[0]) == 0
    assert len(transfers(made, "pp", max_transfers=10)[0]) == 1  # what takes no time has no place for an arrow
    unknown = Spans(made.start_ns, made.end_ns, made.rank, made.phase, made.peer)
    assert len(transfers(unknown, "pp", max_transfers=10)[0]) == 0
