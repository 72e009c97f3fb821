import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.kernels.ordered import median, quantile

numbers = st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=40)


@given(numbers, st.sampled_from((0.0, 0.1, 0.25, 0.3, 0.5, 0.9, 1.0)))
def test_quantiles_and_medians_are_numpys(some, share):
    for values in (np.array(some, np.int64), np.array(some) / 7):
        assert quantile(np.sort(values), share) == pytest.approx(np.percentile(values, 100 * share), rel=1e-12)
        assert median(values) == np.median(values)


def test_of_nothing_is_0():
    assert quantile(np.zeros(0), 0.5) == median(np.zeros(0)) == 0.0
