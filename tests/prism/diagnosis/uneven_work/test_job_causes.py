import pytest

from prism.diagnosis.uneven_work.job_causes import slowdown_of
from tests.prism.traffic import placed, seen, training

VIEW = seen(training(dp=4).flows(placed(4)), placed(4))


@pytest.mark.parametrize(("share", "ratio"), [(0.0, 1.0), (-0.3, 1.0), (0.5, 2.0), (5.0, 10.0)])
def test_the_cost_of_a_cause_is_bounded(share, ratio):
    assert slowdown_of(VIEW, share * VIEW.period) == pytest.approx(ratio)
