import numpy as np
import pytest

from prism.kernels.cycle import cycle


def ends(pattern, times, noise=0.01, seed=1):
    rng = np.random.default_rng(seed)
    length = np.tile(pattern, times) * np.exp(rng.normal(0, noise, len(pattern) * times))
    return np.concatenate([[0], np.cumsum(length * 1e6)]).astype(np.int64)


@pytest.mark.parametrize("turned", [0, 2, 7])
def test_layers_forward_and_backward_are_one_step(turned):
    """Four gathers 10 ms apart forward, six calls 20 ms apart backward."""
    pattern = np.roll([10.0] * 4 + [20.0] * 6, turned)
    assert cycle(ends(pattern, 9)) == (10, turned % 10)


def test_steps_that_vary_are_steps():
    assert cycle(ends([100.0], 40, noise=0.05)) is None
    assert cycle(ends([100.0], 40, noise=0.3)) is None


def test_a_pause_every_few_steps_makes_them_no_parts():
    assert cycle(ends([100.0, 100.0, 100.0, 100.0, 400.0], 8)) is None


def test_too_few_say_nothing():
    assert cycle(ends([10.0, 20.0], 2)) is None
    assert cycle(np.zeros(0, np.int64)) is None
