"""How much volumes vary, against NumPy group by group."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.kernels.evenness import varied


def naive(records, octets, begins):
    between, within, steps = [], [], octets.shape[1] - 1
    for low, high in pairwise(begins):
        moved = octets[low:high][2 * np.count_nonzero(records[low:high], axis=1) >= steps]
        if len(moved) < 2:
            continue
        total = moved.sum(axis=1)
        between += (total / np.median(total) - 1).tolist()
        inner = moved[:, 1:steps]
        for own in inner if inner.shape[1] else ():
            if np.median(own) > 0:
                parts = own / np.median(own)
                within.append(1.4826 * np.median(np.abs(parts - np.median(parts))))
    return between, within


@given(st.data(), st.integers(0, 5), st.lists(st.integers(0, 4), max_size=4))
def test_volumes_vary_as_numpy_has_it(data, steps, sizes):
    n = sum(sizes)
    own = st.lists(st.integers(0, 9), min_size=steps + 1, max_size=steps + 1).filter(any)
    octets = np.array(data.draw(st.lists(own, min_size=n, max_size=n)), float).reshape(n, steps + 1)
    begins = np.cumsum([0, *sizes])
    between, within = varied((octets > 0).astype(float), octets, begins)
    expected = naive((octets > 0).astype(float), octets, begins)
    assert (between.tolist(), within.tolist()) == expected
