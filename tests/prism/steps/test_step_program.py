import numpy as np
import pytest

from prism.steps import constants as c
from prism.steps._step_program import period_of
from prism.steps.record_sequences import chosen
from prism.steps.traffic_clock import Clock, clock_of
from tests.prism.steps.made import buckets, sequences


@pytest.mark.parametrize("made", [{}, {"jitter": 0.3}, {"hang": (2, 7)}, {"steps": 60}, {"period": 600_000}, {"period": 20}])
def test_a_step_is_the_shortest_word_that_repeats(made):
    found = sequences(buckets(**made)[0])
    clock = clock_of(found, chosen(found))
    assert clock.parts / period_of(clock).bins == pytest.approx(made.get("steps", 10), rel=0.02)


def test_noise_has_no_period():
    rng = np.random.default_rng(3)
    density = rng.poisson(1.0, (8, c.BINS)).astype(float)
    pace = rng.standard_normal(c.BINS)
    assert period_of(Clock(np.cumsum(np.r_[0, np.exp(pace)]), density, pace, np.zeros(8, np.int64))) is None
