import numpy as np

from prism.steps._step_program import period_of
from prism.steps._step_tracking import tracked
from prism.steps.record_sequences import chosen
from prism.steps.traffic_clock import clock_of
from tests.prism.steps.made import buckets, sequences


def test_every_step_has_a_place_and_they_are_even():
    found = sequences(buckets(steps=12, jitter=0.2)[0])
    clock = clock_of(found, chosen(found))
    period = period_of(clock)
    places = tracked(clock, period)
    assert 11 <= len(places) <= 13
    assert np.abs(np.diff(places) - clock.parts / 12).max() < clock.parts / 12 * 0.1
