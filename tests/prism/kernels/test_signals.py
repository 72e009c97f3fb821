import numpy as np

from prism.kernels.signals import signals
from prism.synth.simulate import simulate
from prism.synth.spec import Cluster, Job, Spec


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
