import numpy as np
import pytest

from prism.kernels.edges import edges_of
from prism.kernels.handover import handover, handovers
from prism.synth.simulate import simulate
from prism.synth.spec import Cluster, Job, Spec
from tests.prism.traffic import MS, T0, Wire


def edges(**job):
    flows = simulate(Spec("x", Cluster(hosts=8), (Job(**job),)), 1).flows
    return flows, edges_of(flows, np.flatnonzero(~flows.control()))


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe"])
def test_stages_hand_over(schedule):
    flows, own = edges(pp=4, dp=1, micro=8, schedule=schedule)
    found, trees = handovers(own)
    names = sorted(tuple(flows.endpoints[end] for end in pair) for pair in found)
    assert [(a[:7], b[:7]) for a, b in names] == [("10.10.0", "10.10.1"), ("10.10.1", "10.10.2"), ("10.10.2", "10.10.3")]
    assert trees == []
    first = found[min(found)].first
    assert len(first.empty) == 24


@pytest.mark.parametrize("algorithm", ["ring", "halving", "pairs"])
def test_members_of_a_collective_exchange(algorithm):
    for dp in (2, 8):
        assert handovers(edges(dp=dp, algorithm=algorithm)[1]) == ({}, [])


def test_an_exchange_in_which_one_side_is_late_leaves_nothing_in_flight():
    wire = Wire()
    for step in range(20):
        for k in range(4):
            wire.send(0, 1, 100_000, T0 + (step * 100 + k) * MS)
            wire.send(1, 0, 100_000, T0 + (step * 100 + k + 2) * MS)
    own = edges_of(wire.flows())
    assert handover(own[0, 1], own[1, 0]) is None


def test_too_little_says_nothing():
    wire = Wire()
    wire.send(0, 1, 1000, T0)
    wire.send(1, 0, 1000, T0 + MS)
    own = edges_of(wire.flows())
    assert handover(own[0, 1], own[1, 0]) is None
