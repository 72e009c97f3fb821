import numpy as np

from prism.steps import constants as c
from prism.steps.record_sequences import chosen
from prism.steps.traffic_clock import clock_of
from tests.prism.steps.made import buckets, sequences


def test_steps_last_equally_long_on_the_clock_of_traffic_whatever_they_take():
    wire, ends = buckets(jitter=0.3, hang=(4,))
    found = sequences(wire)
    clock = clock_of(found, chosen(found))
    at = np.interp(ends - found.origin, clock.edges, np.arange(c.BINS + 1))
    assert np.allclose(np.diff(at), c.BINS / 10, atol=c.BINS / 200)
    assert np.all(np.diff(clock.edges) >= 0)
    assert np.allclose(clock.density.sum(1), c.BINS)
