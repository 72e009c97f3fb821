import numpy as np
import pytest

from prism.kernels.signals import signals
from prism.synth.simulate import simulate
from prism.synth.spec import Cluster, Job, Spec
from tests.prism.traffic import MS, T0, Wire


def heard(**job):
    done = simulate(Spec("x", Cluster(hosts=8, nic_gbit=4.0), (Job(gradient_octets=8_000_000, steps=10, **job),)), 1)
    ends = np.array([[b for _, _, b in rows] for rows in done.truth["jobs"]["A"]["steps_wire"].values()])
    return done.flows, ends.T, signals(done.flows, np.median(ends, axis=0).astype(np.int64))


def test_a_scalar_reduction_over_all_ranks_ends_the_steps_of_each():
    flows, ends, found = heard(pp=2, dp=4, micro=4, transport="tcp", world_reduce=True)
    assert sorted(flows.endpoints[end] for end in found) == sorted(flows.endpoints[i] for i in range(8))
    for times in found.values():
        assert np.abs(times[np.searchsorted(times, ends[:-1, 0]) - 1] - ends[:-1, 0]).max() < 5e6


def test_readiness_and_credits_are_none():
    assert heard(dp=8, transport="tcp")[2] == {}
    assert heard(dp=8, transport="rdma", credits=True)[2] == {}


@pytest.mark.parametrize("transport", ["rdma", "tcp"])
def test_what_all_say_at_once_after_the_payload_ends_the_step(transport):
    """Of data parallel ranks alone no pair is idle: the scalar goes where gradients go, or where their credits come from."""
    flows, ends, found = heard(dp=8, transport=transport, world_reduce=True, credits=transport == "rdma")
    assert sorted(flows.endpoints[end] for end in found) == sorted(flows.endpoints[i] for i in range(8))
    for times in found.values():
        assert np.abs(times[np.searchsorted(times, ends[:-1, 0], "right") - 1] - ends[:-1, 0]).max() < 5e6


def test_a_connection_need_not_be_as_old_as_the_job():
    """After a restart all connections are new, and none of them carries signals in most steps."""
    wire, ends = Wire(), []
    for step in range(20):
        at = T0 + step * 100 * MS
        for a, b in ((0, 1), (1, 0)):
            wire.send(a, b, 1_000_000, at, dst_qp=10 + a + 100 * (step >= 6))
        for rank in range(2):
            wire.send(rank, 2, 48, at + 5 * MS, dst_qp=20 + rank + 100 * (step >= 6))
        ends.append(at + 3 * MS)
    found = signals(wire.flows(), np.array(ends))
    assert {end: len(times) for end, times in found.items()} == {0: 20, 1: 20, 2: 40}


@pytest.mark.parametrize(("late", "known"), [((4,), True), ((4, 7, 9, 12), False)])
def test_a_word_may_come_late_in_a_rest_that_is_shorter_than_usual(late, known):
    """What comes nearer to the next payload in more than a few steps may ask for it."""
    wire, ends = Wire(), []
    at = T0
    for step in range(16):
        for a in range(3):
            wire.send(a, (a + 1) % 3, 1_000_000, at, dst_qp=10 + a)
            wire.send((a + 1) % 3, a, 64, at + 30 * MS, dst_qp=20 + a)
        ends.append(at + 2 * MS)
        at += 100 * MS if step not in late else 50 * MS
    assert (set(signals(wire.flows(), np.array(ends))) == {0, 1, 2}) == known
