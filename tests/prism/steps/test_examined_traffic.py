from dataclasses import replace

import numpy as np

from prism.steps.examined_traffic import repetition_of
from prism.steps.step_bounds import steps_of
from tests.prism.steps.made import MS, buckets, sequences


def test_a_repetition_that_is_known_is_used_at_other_times_too():
    first = sequences(buckets(jitter=0.1)[0])
    found = repetition_of(first)
    again = replace(first, origin=first.origin + 5 * MS)
    moved = replace(found, origin=found.origin + 5 * MS)
    assert steps_of(again, moved).examined is moved
    assert np.array_equal(steps_of(again, moved).times, steps_of(again).times)


def test_traffic_outside_a_known_repetition_is_examined():
    first = sequences(buckets(jitter=0.1)[0])
    found = repetition_of(first)
    longer = sequences(buckets(jitter=0.1, steps=20)[0])
    assert found.covers(first)
    assert not found.covers(longer)
    assert len(steps_of(longer, found).complete) > len(steps_of(first).complete)
