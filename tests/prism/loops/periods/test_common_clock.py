import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.intervals import nearest
from prism.loops.periods.common_clock import _long_together, in_step

MS = 1_000_000


def naively_in_step(a, b):
    """As the definition says it, of whole arrays."""
    near = nearest(a, b)
    distance = (near - a) / max(float(np.median(np.diff(a))), 1.0)
    close = np.abs(distance) <= 0.3
    if close.mean() < 0.8:
        return False
    often, mostly = np.percentile(np.abs(distance[close] - np.median(distance[close])), (80, 60))
    return bool(often <= 0.02 or (mostly <= 0.02 and _long_together(a[close], near[close])))


lengths = st.lists(st.sampled_from((98, 100, 102, 130)), min_size=3, max_size=12)


@given(lengths, lengths, st.integers(-40, 40), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_in_step_is_as_in_the_plain_twin(one, other, late, jitter):
    a, b = (np.cumsum(own, dtype=np.int64) * MS for own in (one, other))
    for theirs in (b + late * MS, a + late * MS + np.array(jitter[: len(a)]) * MS):
        theirs.sort()
        assert in_step(a, theirs) == naively_in_step(a, theirs)


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
