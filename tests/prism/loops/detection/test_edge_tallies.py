import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.detection.edge_tallies import numbers_of, tally


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 2), st.integers(0, 9)), max_size=30))
def test_sums_by_edge_and_part_are_as_in_the_plain_twin(some):
    number, part = (np.array([one[k] for one in some], np.int32) for k in range(2))
    values, rows = np.array([one[2] for one in some], np.int64), np.argsort(number, kind="stable")
    low, high = (np.searchsorted(number[rows], np.arange(4), side) for side in ("left", "right"))
    assert numbers_of(rows, low, high, len(some)).tolist() == number.tolist()
    total = np.zeros((4, 3))
    tally(number, part, values, total)
    assert total.tolist() == [[sum(v for n, p, v in some if (n, p) == (k, j)) for j in range(3)] for k in range(4)]
