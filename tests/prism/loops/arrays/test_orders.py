import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.orders import in_order


@given(
    st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(0, 9)), max_size=200),
    st.sampled_from((1, 2**30, 2**62)),
)
def test_orders_are_those_of_a_stable_sort(some, step):
    for values in (np.array(some, np.int64), np.array(some, np.int64) // step, np.sort(np.array(some, np.int64))):
        assert in_order(values).tolist() == np.argsort(values, kind="stable").tolist()


def test_values_that_lie_together_are_put_in_order_too():
    rng = np.random.default_rng(1)
    for scale in (1, 30, 10**6, 10**18):
        values = np.concatenate([rng.integers(0, scale, 5000), 2**62 + rng.integers(0, 7, 5000)])
        rng.shuffle(values)
        for some in (values, values[::2], values.astype(np.int32)):
            assert in_order(some).tolist() == np.argsort(some, kind="stable").tolist()
