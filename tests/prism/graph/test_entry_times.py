import numpy as np
import pytest

from prism.graph.entry_times import entry_times
from tests.prism.traffic import Wire, placed, seen, training


def test_the_time_before_a_rank_communicates_is_its_work():
    work = lambda step, rank: 40.0 if (step, rank) == (5, 2) else 20.0  # noqa: E731
    view = seen(training(dp=6, work=work, wire=Wire(tcp=True)).flows(placed(6)), placed(6))
    took = entry_times(view) / 1e6
    assert took.shape == (len(view.ends) - 1, 6)
    others = np.delete(took, 4, axis=0)
    assert took[4, 2] > 1.4 * others[:, 2].max()  # the first row is the second step
    assert np.median(others) == pytest.approx(60, rel=0.1)  # forward and backward


def test_ranks_with_different_numbers_of_steps_are_not_compared():
    view = seen(training(dp=4, wire=Wire(tcp=True)).flows(placed(4)), placed(4))
    view.timeline.steps[1].resize((2, 2), refcheck=False)
    assert entry_times(view).shape == (0, 4)
