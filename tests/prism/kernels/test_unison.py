import numpy as np

from prism.kernels.unison import in_step

MS = 1_000_000


def test_parts_of_one_job_are_in_step_and_two_jobs_are_not():
    chance = np.random.default_rng(0)
    one, other = (np.cumsum(chance.normal(100, 3, 60) * MS).astype(np.int64) for _ in range(2))
    assert in_step(one, one + 20 * MS)
    assert in_step(one, one[3:] + chance.integers(0, MS, 57))
    assert not in_step(one, other)
    assert not in_step(one, one + 50 * MS)
    assert not in_step(one[:2], one[:2])


def test_what_holds_one_part_back_makes_steps_longer_for_both():
    """And of two jobs but for the one that it slows."""
    chance = np.random.default_rng(0)
    slow = (np.arange(24) >= 10) & (np.arange(24) < 17)
    length, other = ((100 + chance.normal(0, 1, 24)) * MS for _ in range(2))
    one = np.cumsum(length + 30 * slow * MS).astype(np.int64)
    late = one + np.where(slow, 15 * MS, 0)
    assert in_step(one, late)
    assert in_step(late, one)
    assert not in_step(one, np.cumsum(other).astype(np.int64))
