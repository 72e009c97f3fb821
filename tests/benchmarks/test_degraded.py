import numpy as np
import pytest

from benchmarks.degraded import WAYS, degrade
from collectors.columns.record import Transits
from tests.prism.traffic import placed, training


@pytest.mark.parametrize("way", list(WAYS))
def test_each_way_loses_something_and_the_same_at_each_call(way):
    flows, topology = training(dp=4).flows(), placed(4)
    once, again = (degrade(flows, Transits.empty(flows.exporters), topology, way) for _ in range(2))
    assert np.array_equal(once[0].octets, again[0].octets)
    assert (once[2] is None) == (way == "unplaced")
    assert len(once[0]) <= len(flows)
    assert (once[0].octets.sum() == flows.octets.sum()) == (way in {"summed", "skewed", "unplaced"})


def test_sampled_records_without_a_number_of_packets_vanish_by_their_octets():
    flows = training(dp=4).flows()
    flows, _, _ = degrade(flows, Transits.empty(flows.exporters), None, "sampled16")
    assert set(flows.sampling_rate.tolist()) == {16}
