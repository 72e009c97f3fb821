import numpy as np
import pytest

from prism.evidence.step_period import steps_of
from prism.evidence.streams import streams_of
from tests.prism.evidence.made import MS, Wire, data_parallel, pipelined


def steps(wire):
    flows = wire.flows()
    return steps_of(streams_of(flows, wire.endpoints, origin=flows.window[0]))


@pytest.mark.parametrize(
    ("wire", "period"), [(data_parallel(), 200), (data_parallel(layers=3, period=250), 250), (pipelined(), 500)]
)
def test_a_step_is_not_one_of_its_parts(wire, period):
    found = steps(wire)
    assert found.period == pytest.approx(period * MS, rel=0.02)
    assert np.median(np.diff(found.bounds)) == pytest.approx(period * MS, rel=0.02)


def test_layers_that_look_alike_are_no_steps_where_something_comes_once_in_a_step():
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(12):
        for layer in range(10):
            wire.ring([0, 1, 2, 3], step * 220 + 20 * layer, 2_000_000, rounds=6)
        wire.ring([0, 1, 2, 3], step * 220 + 205, 20_000, rounds=1)
    assert steps(wire).period == pytest.approx(220 * MS, rel=0.02)
