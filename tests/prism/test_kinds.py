import pytest

from prism.jobs import recognize, rows_of
from prism.parallelism import infer
from prism.synth.simulate import simulate
from prism.synth.spec import Cluster, Job, Spec


def kinds(job):
    """How many groups of each kind and size."""
    done = simulate(Spec("x", Cluster(hosts=job.world), (job,)), 3)
    (found,) = recognize(done.flows)
    told = infer(done.flows.take(rows_of(done.flows, found)), found)
    out = {}
    for group in told.groups:
        out[group.kind, len(group.members)] = out.get((group.kind, len(group.members)), 0) + 1
    return out


BASE = {"gradient_octets": 100_000_000, "forward_ms": 60, "backward_ms": 120, "steps": 14}


def test_experts_with_and_without_overlap():
    for overlap in (False, True):
        job = Job(dp=8, ep=4, expert_octets=8_000_000, buckets=2, overlap=overlap, **BASE)
        assert kinds(job) == {("dp", 8): 1, ("dp", 2): 4, ("ep", 4): 2}


def test_as_many_experts_as_groups_of_them():
    """Expert parallel groups and the groups that reduce experts' gradients are of one size, and all inside the same ranks."""
    job = Job(dp=16, ep=4, expert_octets=500_000, transport="tcp", **BASE)
    assert kinds(job) == {("dp", 16): 1, ("dp", 4): 4, ("ep", 4): 4}


@pytest.mark.parametrize("cp", [2, 4])
def test_context(cp):
    job = Job(dp=8 // cp, cp=cp, context_octets=6_000_000, buckets=4, overlap=True, **BASE)
    assert kinds(job) == {("dp", 8): 1, ("cp", cp): 8 // cp}


def test_tensor_parallel_on_the_wire():
    job = Job(dp=4, tp=2, tensor_octets=2_000_000, **BASE)
    assert kinds(job) == {("dp", 4): 2, ("tp", 2): 4}
