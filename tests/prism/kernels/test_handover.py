from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.kernels.edges import edges_of
from prism.kernels.handover import _floor, _in_flight, _tide, _usual, handover, handovers
from prism.synth.simulate import simulate
from prism.synth.spec import Cluster, Fault, Job, Spec
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


def test_pairs_that_join_pipelines_like_rungs_are_no_pipelines():
    """Reductions of two ranks one of which always works for longer leave octets in flight, too: those of the other one."""
    slow = Fault("compute_slow", ranks=(2,), factor=2.5)
    job = Job(pp=2, dp=2, micro=4, schedule="gpipe", transport="rdma", steps=24)
    flows = simulate(Spec("x", Cluster(hosts=8), (job,), faults=(slow,)), 1).flows
    found, trees = handovers(edges_of(flows, np.flatnonzero(~flows.control())))
    names = {tuple(flows.endpoints[end] for end in pair) for pair in found}
    assert names == {("10.10.0.1", "10.10.2.1"), ("10.10.1.1", "10.10.3.1")}
    assert trees == []


def test_what_never_came_back_when_a_job_crashed_was_in_flight():
    """Activations come in bursts of two, gradients one by one; the last step is cut short before they come back."""
    wire = Wire()
    for step in range(8):
        for k in range(4):
            wire.send(0, 1, 100_000, T0 + (step * 150 + k // 2 * 10 + k % 2 * 0.08) * MS)
            if step < 7:
                wire.send(1, 0, 100_000, T0 + (step * 150 + 40 + k * 10) * MS)
    own = edges_of(wire.flows())
    found = handover(own[0, 1], own[1, 0])
    assert found is not None
    assert len(found.first.empty) == 7


def test_too_little_says_nothing():
    wire = Wire()
    wire.send(0, 1, 1000, T0)
    wire.send(1, 0, 1000, T0 + MS)
    own = edges_of(wire.flows())
    assert handover(own[0, 1], own[1, 0]) is None


pauses = st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 9)), min_size=2, max_size=30)


@given(pauses)
def test_levels_and_tides_are_the_obvious_loops(some):
    level, idle = (np.array(column, np.float64) for column in zip(*some, strict=True))
    stays = {own: idle[np.abs(level - own) <= 1].sum() for own in sorted(set(level.tolist()))}
    assert _usual(level, idle, 1.0).tolist() == (np.abs(level - max(stays, key=stays.__getitem__)) <= 1).tolist()
    assert _floor(level, idle) == min(own for own in stays if idle[level <= own].sum() >= 0.02 * idle.sum())
    calm = level <= 1
    visits = [list(own) for low, own in groupby(range(len(level)), key=lambda i: calm[i]) if low]
    tide = _tide(np.arange(len(level)), level, idle, 1.0)
    assert tide.empty.tolist() == [own[0] for own in visits]
    assert tide.busy == idle[~calm].sum() / idle.sum()
    assert tide.rest == (np.median([idle[own].max() for own in visits]) if visits else 0.0)
    parts = [(idle[own][~calm[own]].sum(), idle[own].sum()) for k in range(12) if len(own := _part(len(idle), k))]
    assert _in_flight(calm, idle) == pytest.approx(np.median([away / whole for away, whole in parts]))


def _part(n, k):
    """The places of the k-th of twelve parts of n."""
    return np.flatnonzero(np.arange(n) * 12 // n == k)
