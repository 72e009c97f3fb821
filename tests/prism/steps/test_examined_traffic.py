from dataclasses import replace

import numpy as np

from prism.steps.examined_traffic import repetition_of
from prism.steps.step_bounds import steps_of
from tests.prism.steps.made import buckets, sequences


def test_traffic_that_was_examined_before_is_not_examined_again():
    first = sequences(buckets(jitter=0.1)[0])
    found = repetition_of(first)
    again = replace(first, start=first.start.copy(), origin=first.origin + 5)
    assert repetition_of(again, (found,)) is found
    assert np.array_equal(steps_of(again, (found,)).times, steps_of(again).times)


def test_other_records_are_examined():
    first = sequences(buckets(jitter=0.1)[0])
    found = repetition_of(first)
    for change in ({"start": first.start + 1}, {"weight": first.weight + 1}, {"kind": np.arange(len(first.kind))}):
        assert repetition_of(replace(first, **change), (found,)) is not found
