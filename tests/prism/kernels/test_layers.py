import numpy as np
import pytest

from prism.kernels.layers import grouped
from prism.kernels.rhythm import FOREVER, Rhythm

MS = 1_000_000


def beats(pattern, times, pause=0.5):
    """A rhythm whose beats last so many ms, and its stream; a pause follows each beat, or each one's own."""
    lengths = np.tile(np.asarray(pattern, np.float64), times)
    ends = (np.cumsum(lengths) * MS).astype(np.int64)
    after = (np.broadcast_to(np.tile(pause, times) if np.ndim(pause) else pause, ends.shape) * MS).astype(np.int64)
    begin = np.concatenate([[0], ends[:-1] + after[:-1]])
    found = Rhythm(np.stack([ends, np.append(begin[1:], FOREVER)], axis=1), 100, 1.0)
    return grouped(found, begin, ends, np.full(len(ends), 100))


LAYERS = [10] * 3 + [20] * 5  # forward, and backward


def test_layers_with_the_optimizer_after_the_last_are_one_step():
    found = beats([30, *LAYERS], 9)
    assert len(found.quiet) == 9
    assert np.diff(found.quiet[:, 0]).tolist() == [160_000_000] * 8
    assert found.octets == 900


@pytest.mark.parametrize(
    "pattern", [[10], [10, 10, 10, 10, 60], [10, 14], [25] + [10] * 7], ids=["steps", "long", "two in turn", "short"]
)
def test_steps_stay_steps(pattern):
    """Whatever an evaluation takes, after every so many."""
    assert len(beats(pattern, 12).quiet) == 12 * len(pattern)


def test_a_slow_stretch_is_grouped_as_well():
    """Three of ten steps compute for half as long again; sequences are of many lengths."""
    took = (1 + 0.03 * np.random.default_rng(1).normal(size=10)) * np.where(np.isin(np.arange(10), (3, 4, 5)), 1.5, 1.0)
    lengths = [x * step for step in took for x in [20] + [10] * 7]
    assert len(beats(lengths, 1).quiet) == 10


@pytest.mark.parametrize(("together", "steps"), [(True, 20), (False, 100)])
@pytest.mark.parametrize("long", [22.0, 38.0])
def test_however_long_one_beat_is_the_others_are_of_one_step_if_they_vary_together(together, steps, long):
    """Four buckets of a backward pass after a forward pass; or four steps of which each takes its time, and a long one."""
    rng = np.random.default_rng(1)
    lengths = [x for _ in range(20) for x in (long, *np.full(4, 10.0) * (1 + 0.04 * rng.normal(size=1 if together else 4)))]
    assert len(beats(lengths, 1).quiet) == steps


def test_forward_passes_follow_the_end_of_a_step():
    """Narrow gaps while it goes forward, wide ones backward; the last beat is the longest, and the optimizer works after it."""
    lengths, pauses = [10] * 4 + [10] * 7 + [20], [3] * 4 + [6] * 7 + [5]
    found = beats(lengths, 9, pauses)
    assert set(found.quiet[:, 0] % (sum(lengths) * MS)) == {0}
