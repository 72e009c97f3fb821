import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.medians import arrange, in_order, median, quantile, rising

numbers = st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=40)


@given(numbers, st.sampled_from((0.0, 0.1, 0.25, 0.3, 0.5, 0.9, 1.0)))
def test_quantiles_and_medians_are_numpys(some, share):
    for values in (np.array(some, np.int64), np.array(some) / 7):
        assert quantile(np.sort(values), share) == pytest.approx(np.percentile(values, 100 * share), rel=1e-12)
        assert median(values) == np.median(values)


def test_of_nothing_is_0():
    assert quantile(np.zeros(0), 0.5) == median(np.zeros(0)) == 0.0


@given(st.lists(st.integers(0, 9), max_size=60), st.booleans())
def test_places_in_order_are_those_of_a_stable_sort(some, nearly):
    values = np.array(some, np.int64) + (20 * np.arange(len(some)) // 3 if nearly else 0)
    assert rising(values).tolist() == np.argsort(values, kind="stable").tolist()


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


@given(st.lists(st.integers(-9, 9), max_size=80))
def test_values_are_arranged_in_place(some):
    values = np.array(some, np.int64)
    arrange(values)
    assert values.tolist() == sorted(some)
