import numpy as np
import pytest

from prism.loops.detection.step_cuts import cuts

RESTS = (10, 0, 0, 30, 0, 20, 0, 40)  # before each of eight records of a step, of as many octets each


def steps(rests, many=6):
    place = np.tile(np.arange(len(rests)) / len(rests), many)
    return place, np.tile(np.array(rests, np.int64), many), np.arange(many + 1) * len(rests)


@pytest.mark.parametrize(("parts", "at"), [(2, [0.5]), (3, [0.5, 0.75]), (4, [np.nan, 0.5, np.nan])])
def test_a_step_is_cut_between_rests_where_nearest_to_its_parts(parts, at):
    """Of all rest 10 % are over after the first, 40 % after the second, 60 % after the third."""
    assert cuts(*steps(RESTS), parts) == pytest.approx(at, nan_ok=True)


def test_where_steps_differ_they_are_not_cut():
    place, rest, bounds = steps(RESTS)
    rng = np.random.default_rng(1)
    rest = np.maximum(rest * rng.uniform(0.0, 3.0, len(rest)), 0).astype(np.int64)
    assert np.isnan(cuts(place, rest, bounds, 8)).all()


def test_one_rest_is_not_cut():
    assert np.isnan(cuts(*steps((90, 0, 0, 0)), 4)).all()


def test_nothing_sent_tells_nothing():
    assert np.isnan(cuts(np.zeros(0), np.zeros(0, np.int64), np.zeros(3, np.int64), 2)).all()
