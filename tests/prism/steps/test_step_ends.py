import numpy as np

from prism.steps._step_program import period_of
from prism.steps._step_tracking import tracked
from prism.steps.record_sequences import chosen
from prism.steps.step_ends import end_of, folded
from prism.steps.traffic_clock import clock_of
from tests.prism.steps.made import buckets, sequences


def test_a_step_ends_where_its_operations_rest_longest():
    found = sequences(buckets()[0])
    clock = clock_of(found, chosen(found))
    mean = folded(clock, tracked(clock, period_of(clock).bins), found)
    assert mean.spent.sum() == 1 or abs(mean.spent.sum() - 1) < 1e-9
    at = int(end_of(mean).phase * len(mean.spent))
    assert mean.spent[at] == mean.spent.max()
    assert np.isclose(mean.turned(5).spent[0], mean.spent[5])
