"""How much volumes vary, against NumPy group by group."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.detection.volume_evenness import varied


def off(values):
    return 1.4826 * np.median(np.abs(values / np.median(values) - 1), axis=-1)


def naive(octets, begins):
    between, lacks, within, whole, steps = [], [], [], [], octets.shape[1] - 1
    for low, high in pairwise(begins) if steps > 1 else ():
        moved = octets[low:high]
        moved = moved[np.median(moved[:, 1:steps], axis=1) > 0]
        if len(moved) < 2:
            continue
        parts = moved / np.median(moved[:, 1:steps], axis=1, keepdims=True)
        inner = parts[:, 1:steps]
        means = [parts.sum(axis=1) / steps, parts[:, :steps].sum(axis=1) / steps]
        spreads = [np.median(np.abs(own - np.median(own))) for own in means]
        mean = means[int(spreads[1] < spreads[0] - 1e-9)]
        between += (mean / np.median(mean) - 1).tolist()
        lacks += (1 - mean).tolist()
        within += [off(own) for own in inner]
        whole.append(off(inner.sum(axis=0)))
    return between, lacks, within, whole


@given(st.data(), st.integers(0, 5), st.lists(st.integers(0, 4), max_size=4))
def test_volumes_vary_as_numpy_has_it(data, steps, sizes):
    n = sum(sizes)
    own = st.lists(st.integers(0, 9), min_size=steps + 1, max_size=steps + 1).filter(any)
    octets = np.array(data.draw(st.lists(own, min_size=n, max_size=n)), float).reshape(n, steps + 1)
    begins = np.cumsum([0, *sizes])
    for found, expected in zip(varied(octets, begins), naive(octets, begins), strict=True):
        assert found.tolist() == pytest.approx(expected, abs=1e-12)
