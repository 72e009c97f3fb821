import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.record_groups import by_group


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), max_size=30), st.booleans())
def test_records_come_by_group_and_time(some, ascending):
    some = sorted(some, key=lambda one: one[1]) if ascending else some
    group, times = (np.array([one[k] for one in some], np.int64) for k in range(2))
    order, begins = by_group(group, 4, times)
    assert order.tolist() == np.lexsort([times, group]).tolist()
    assert begins.tolist() == [int((group < k).sum()) for k in range(5)]
