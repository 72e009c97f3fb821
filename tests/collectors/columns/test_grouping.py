import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.grouping import grouped, numbered, numbered_pairs

KEYS = st.lists(st.sampled_from([-1, 0, 3, 1 << 40, -(1 << 62)]), max_size=40)


@given(KEYS)
def test_keys_are_numbered_in_order_of_appearance(keys):
    distinct, which = numbered(np.array(keys, np.int64))
    assert distinct.tolist() == list(dict.fromkeys(keys))
    assert distinct[which].tolist() == keys


@given(KEYS)
def test_rows_are_grouped_in_their_order(keys):
    distinct, which = numbered(np.array(keys, np.int64))
    rows, bounds = grouped(which, len(distinct) + 1)  # the last group is empty
    found = [rows[bounds[k] : bounds[k + 1]].tolist() for k in range(len(distinct) + 1)]
    assert found == [[i for i, key in enumerate(keys) if key == wanted] for wanted in [*distinct.tolist(), None]]


@given(st.lists(st.tuples(st.sampled_from([-1, 0, 1 << 62]), st.sampled_from([0, 7, -(1 << 63)])), max_size=40))
def test_pairs_are_numbered_in_order_of_appearance(pairs):
    one, other = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    rows, which = numbered_pairs(one, other)
    assert [pairs[row] for row in rows] == list(dict.fromkeys(pairs))
    assert rows.tolist() == [pairs.index(pair) for pair in dict.fromkeys(pairs)]
    assert [pairs[rows[k]] for k in which] == pairs
