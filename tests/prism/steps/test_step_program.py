import numpy as np
import pytest

from prism.steps import constants as c
from prism.steps._step_program import _lags, _power, period_of
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
    assert period_of(Clock(np.cumsum(np.r_[0, np.exp(pace)]), density)) is None


def test_a_step_of_one_record_per_connection_is_found_though_smoothing_rounds_its_lag_down():
    records, parts = 20, c.LEAST_BINS
    step = parts / records  # 409.6 bins: the lag of coarse scales is 408
    place = np.arange(parts) / step % 1
    density = np.exp(-(((place - 0.5) * 8) ** 2))[None]
    clock = Clock(np.cumsum(np.r_[0.0, 1 + 50 * (place > 0.9)]), density, True, records)
    spectra = np.concatenate([_power(density), _power(clock.pace(2.0))[None]])
    assert _lags(spectra, 32, clock)[0].min() == pytest.approx(step, abs=4)
