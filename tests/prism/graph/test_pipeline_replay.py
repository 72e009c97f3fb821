import numpy as np
import pytest

from prism.graph.pipeline_replay import pipeline_span


def span(ahead, back, micro, *, alternating=True, move=0.0):
    work = [np.tile(np.array(own, float)[:, None, None], (1, micro, 1)) for own in (ahead, back)]
    return pipeline_span(*work, move, alternating=alternating)[0]


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize(("stages", "micro"), [(3, 8), (4, 4), (4, 1), (1, 5)])
def test_equal_stages_have_the_known_bubble(stages, micro, alternating):
    took = span([1.0] * stages, [2.0] * stages, micro, alternating=alternating)
    assert took == pytest.approx(3.0 * (micro + stages - 1))


def test_the_slowest_stage_sets_the_pace():
    assert span([1, 1, 1, 1.5], [2, 2, 2, 3], 8) == pytest.approx(8 * 4.5 + 3 * 3)
    assert span([1, 1.5, 1, 1], [2, 3, 2, 2], 100) == pytest.approx(100 * 4.5, rel=0.05)


def test_hand_overs_take_their_time():
    assert span([1, 1, 1], [2, 2, 2], 1, move=0.1) == pytest.approx(9 + 4 * 0.1)


def test_each_pipeline_and_micro_batch_has_its_own_work():
    ahead = np.ones((3, 2, 2))
    ahead[:, 1, 1] = 2.0
    one, other = pipeline_span(ahead, 2 * ahead, 0.0, alternating=True)
    assert one == pytest.approx(12.0)
    assert other == pytest.approx(2 + 3 + 2 + 3 * 4)  # forward and backward of the first, then the rest of the second
