import numpy as np
import pytest

from prism.detectors.peers.peer_ranks import against_peers, ordinary, peers, peers_of_stage, ranks_elsewhere
from prism.detectors.slow_rank import slow_rank
from tests.prism.traffic import placed, seen, training


def test_evaluations_are_no_ordinary_work():
    work = np.full((4, 10), 100.0)
    work[:, 6] = 900.0
    work[2, 3] = 900.0
    left = ordinary(work)
    assert np.isnan(left[:, 6]).all()
    assert np.count_nonzero(np.isnan(left)) == 4
    assert left[2, 3] == pytest.approx(900)


def test_peers_reduce_together_and_twins_are_of_one_stage():
    view = seen(training(dp=4, pp=2, steps=8).flows(placed(8, nics=2)), placed(8, nics=2))
    assert [own.tolist() for own in peers(view)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [(own.tolist(), pairs is None) for own, pairs in peers_of_stage(view)] == [
        ([0, 1, 2, 3], False),
        ([4, 5, 6, 7], False),
    ]
    assert ranks_elsewhere(view, np.arange(4), 1).tolist() == [2, 3]
    assert slow_rank(view) == []


def test_where_one_stage_evaluates_the_others_work_is_known():
    """Without groups of more than two all are peers. If half of them evaluate, the other stage's work stays known."""
    view = seen(training(dp=2, pp=2, steps=8).flows(placed(4)), placed(4))
    level = np.zeros((4, 8))
    level[:2, 4:6] = np.log(10.0)
    level[2, 3:6] = np.log(1.9)
    level[3, 5] = np.log(1.1)
    moved = against_peers(view, level)
    assert np.isnan(moved[:2, 4:6]).all()
    assert moved[2, 4:6] == pytest.approx(np.log(1.9))
    assert np.isfinite(moved[2:]).all()
