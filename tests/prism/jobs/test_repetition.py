import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.jobs._repetition import consistency, offsets, shapes
from tests.prism.jobs.made import MS, steps


def shape_of(times, marks, bins=64):
    times = (np.asarray(times) * MS).astype(np.int64)
    return shapes((np.asarray(marks) * MS).astype(np.int64), times, np.ones(len(times)), bins)


def plain(shape):
    """`consistency` by all pairs of steps and all shifts of one."""
    n, bins = shape.shape
    pairs = [(i, k) for i in range(n) for k in range(n) if i != k]
    seen = np.mean([shape[i] @ shape[k] for i, k in pairs])
    chance = np.mean([np.roll(shape[i], by) @ shape[k] for i, k in pairs for by in range(bins)])
    return (seen - chance) / (1 - chance)


def test_traffic_repeats_at_its_own_steps_and_not_at_those_of_a_stranger():
    times, begins = steps(12, jitter=0.01)
    _, others = steps(12, 83.0, jitter=0.01, seed=1)
    assert consistency(shape_of(times, begins)) > 0.95
    assert consistency(shape_of(times, others)) < 0.4


def test_too_few_steps_give_no_result():
    assert consistency(shape_of([1, 2, 101, 102], [0, 100, 200])) == 0


@given(st.integers(0, 1000))
def test_consistency_is_as_in_the_plain_twin(seed):
    shape = np.random.default_rng(seed).random((4, 16))
    shape /= np.sqrt((shape * shape).sum(1))[:, None]
    assert np.isclose(consistency(shape), plain(shape))


def test_offsets_tell_a_drift():
    times, begins = steps(10)
    later = times + np.repeat(np.arange(10) * 0.5, 3)  # half a millisecond more in each step
    shift = offsets(shape_of(later, begins, 256))
    assert np.polyfit(np.arange(len(shift)), shift, 1)[0] > 0.003
