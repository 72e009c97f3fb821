import numpy as np
import pytest

from prism.loops.arrays.edges import edges_of
from prism.loops.communicators.pipeline_handovers import handovers
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate


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


def test_pairs_that_join_pipelines_like_rungs_are_no_pipelines():
    """Reductions of two ranks one of which always works for longer leave octets in flight, too: those of the other one."""
    slow = Fault("compute_slow", ranks=(2,), factor=2.5)
    job = Job(pp=2, dp=2, micro=4, schedule="gpipe", transport="rdma", steps=24)
    flows = simulate(Spec("x", Cluster(hosts=8), (job,), faults=(slow,)), 1).flows
    found, trees = handovers(edges_of(flows, np.flatnonzero(~flows.control())))
    names = {tuple(flows.endpoints[end] for end in pair) for pair in found}
    assert names == {("10.10.0.1", "10.10.2.1"), ("10.10.1.1", "10.10.3.1")}
    assert trees == []


@pytest.mark.parametrize("more", [1.0, 1.005, 1.015])
def test_reductions_of_two_that_move_as_much_as_is_handed_over_make_pipelines_no_tree(more):
    job = Job(
        pp=4, dp=2, micro=8, steps=16, activation_octets=10_000_000, gradient_octets=int(80_000_000 * more), batched=False
    )
    flows, own = edges(**vars(job))
    found, trees = handovers(own)
    names = {tuple(flows.endpoints[end] for end in pair) for pair in found}
    assert names == {(f"10.10.{i}.1", f"10.10.{i + 2}.1") for i in range(6)}
    assert trees == []
