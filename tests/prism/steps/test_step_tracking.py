import numpy as np
import pytest

from prism.steps._step_program import Period, period_of
from prism.steps._step_tracking import _most_alike, tracked
from prism.steps.record_sequences import chosen
from prism.steps.traffic_clock import Clock, clock_of
from tests.prism.steps.made import buckets, sequences


def test_every_step_has_a_place_and_they_are_even():
    found = sequences(buckets(steps=12, jitter=0.2)[0])
    clock = clock_of(found, chosen(found))
    period = period_of(clock)
    places = tracked(clock, period)
    assert 11 <= len(places) <= 13
    assert np.abs(np.diff(places) - clock.parts / 12).max() < clock.parts / 12 * 0.1


def test_traffic_that_does_not_repeat_hides_no_restart_inside_a_step():
    """Only idle times show where steps end; after 6 steps the job restarts 40 % of a step later on the clock."""
    rng, usual = np.random.default_rng(0), 128
    idle = np.concatenate([usual * np.arange(1, 7), usual * 6.4 + usual * np.arange(1, 11)]).astype(np.int64)
    spent = np.ones(idle[-1] + usual)
    spent[idle] = 100
    clock = Clock(np.concatenate([[0.0], np.cumsum(spent)]), rng.standard_normal((8, len(spent))), bursts=True, records=1 << 20)
    places = tracked(clock, Period(usual, 1.0, clock.pace(2.0)))
    assert np.abs(idle[:, None] - places[None]).min(1).max() <= usual / 16


@pytest.mark.parametrize(("shifted", "kept"), [(0, 12), (1, 12), (5, 7), (11, 12)])
def test_the_mean_step_is_that_of_steps_that_lie_alike_in_their_windows(shifted, kept):
    """Evaluations hold no whole number of steps: those after them lie elsewhere, and each of 11 at another place."""
    rng = np.random.default_rng(1)
    step, n = rng.standard_normal((2, 64)), 12
    windows = np.stack([np.roll(step, 5 * max(k - (n - shifted) + 1, 0), axis=1) for k in range(n)], axis=1)
    found = _most_alike(windows + 0.1 * rng.standard_normal(windows.shape))
    assert found.shape == (2, kept, 64)
    assert shifted == 11 or np.corrcoef(found.mean(1).ravel(), step.ravel())[0, 1] > 0.95
