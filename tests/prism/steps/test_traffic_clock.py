import numpy as np

from prism.steps.record_sequences import chosen
from prism.steps.traffic_clock import clock_of
from tests.prism.steps.made import buckets, sequences


def test_steps_last_equally_long_on_the_clock_of_traffic_whatever_they_take():
    wire, ends = buckets(jitter=0.3, hang=(4,))
    found = sequences(wire)
    clock = clock_of(found, chosen(found))
    at = clock.places(ends - found.origin)
    assert np.allclose(np.diff(at), clock.parts / 10, atol=clock.parts / 200)
    assert np.all(np.diff(clock.edges) >= 0)
    assert np.allclose(clock.density.sum(1), clock.parts)
