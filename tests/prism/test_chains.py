import pytest

from prism.jobs import recognize, rows_of
from prism.parallelism import infer
from prism.synth.simulate import simulate
from prism.synth.spec import Cluster, Fault, Job, Spec


def stages(job, *faults, seed=3):
    """The stage of each rank that was found, and that it has."""
    done = simulate(Spec("x", Cluster(hosts=job.world), (job,), faults), seed)
    (found,) = recognize(done.flows)
    told = infer(done.flows.take(rows_of(done.flows, found)), found)
    rank = {r["ip"]: r["rank"] for r in done.truth["jobs"]["A"]["ranks"]}
    return {rank[a]: stage for a, stage in told.stages.items()}, {r: r // (job.world // job.pp) for r in rank.values()}


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "interleaved"])
@pytest.mark.parametrize("dp", [1, 2])
def test_stages_are_in_order(schedule, dp):
    if (schedule, dp) == ("interleaved", 1):
        pytest.skip("a ring of stages without gradients to reduce has no end that shows")
    found, there = stages(Job(pp=4, dp=dp, micro=8, schedule=schedule, steps=12, gradient_octets=100_000_000))
    assert found == there


def test_a_pipeline_of_two():
    found, there = stages(Job(pp=2, dp=2, micro=4, steps=12, gradient_octets=100_000_000))
    assert found == there


@pytest.mark.parametrize("seed", [1, 2])
def test_forward_passes_follow_one_another_sooner_than_backward_passes(seed):
    """Where the last stage is slow, pairs rest for as long at either end."""
    job = Job(
        pp=8, dp=1, micro=16, schedule="gpipe", steps=10, credits=True, forward_ms=65.5, backward_ms=131, optimizer_ms=54.6,
        load_ms=10.9, activation_octets=16_000_000, jitter=0.022,
    )  # fmt: skip
    found, there = stages(job, Fault("compute_slow", ranks=(7,), first=0, factor=1.35), seed=seed)
    assert found == there
