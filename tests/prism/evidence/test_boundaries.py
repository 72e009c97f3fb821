import numpy as np

from prism.evidence.boundaries import rank_steps
from tests.prism.evidence.made import MS, ORIGIN, Wire, data_parallel


def test_a_step_ends_with_the_last_payload_of_each_rank_and_the_next_begins_there():
    wire = data_parallel(hosts=4, steps=6, period=200)
    flows = wire.flows()
    bounds = ORIGIN + np.arange(7) * 200 * MS + 50 * MS
    steps = rank_steps(flows, wire.endpoints, bounds)
    assert [len(own) for own in steps] == [6] * 4
    last = ORIGIN + (120 + 30 + 5 * 0.55 + 0.5) * MS
    for own in steps:
        assert np.allclose(own[:, 1] - last, np.arange(6) * 200 * MS, atol=0.1 * MS)
        assert np.array_equal(own[1:, 0], own[:-1, 1])


def test_a_member_without_payload_has_no_steps_and_cut_steps_are_left_out():
    wire = data_parallel(hosts=3, steps=4, period=200)
    flows = wire.flows()
    bounds = ORIGIN + np.arange(-1, 5) * 200 * MS + 50 * MS
    steps = rank_steps(flows, [*wire.endpoints, "10.9.9.9"], bounds)
    assert [len(own) for own in steps] == [4, 4, 4, 0]


def test_a_step_without_traffic_of_a_rank_is_left_out():
    wire = Wire(["a", "b"])
    for step in (0, 1, 3):
        wire.send(0, 1, 100 * step + 50, 1_000_000)
    steps = rank_steps(wire.flows(), ["a", "b"], ORIGIN + np.arange(5) * 100 * MS)
    assert [len(own) for own in steps] == [3, 3]
    assert steps[0][2, 0] == ORIGIN + 300 * MS
