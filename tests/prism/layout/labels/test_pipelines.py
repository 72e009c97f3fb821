import numpy as np
import pytest

from prism.jobs import recognize, rows_of
from prism.layout.labels.parallelism import infer
from prism.layout.labels.pipelines import chains_of
from prism.loops.arrays.edges import edges_of
from prism.loops.communicators.handover_test import Handover, Tide
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.traffic import MS, T0, Wire


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


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("last", "order"),
    [
        (np.arange(0, 3000, 20), [0, 1, 2]),  # with every micro-batch
        (np.r_[1000:1100:10, 2000:2100:10], [0, 1, 2]),  # in some steps only, which take long
    ],
)
def test_the_first_stage_is_empty_once_a_step_all_through(last, order, turned):
    """Steps take 100 ms; seen the wrong way the pair of the last two stages is empty by micro-batches, or in a few steps."""
    wire = Wire()
    for a, b in ((0, 1), (1, 0), (1, 2), (2, 1)):
        wire.send(a, b, 60_000, T0)
        wire.send(a, b, 60_000, T0 + 10 * MS)
    flows = wire.flows()
    first = Tide(0.5, T0 + np.arange(0, 3000, 100) * MS, 10.0 * MS)
    never = Tide(0.5, np.zeros(0, np.int64), 0.0)
    tides = {(0, 1): Handover(first, never), (1, 2): Handover(never, Tide(0.5, T0 + last * MS, 10.0 * MS))}
    if turned:  # the same line from its other end
        tides = {(1, 2): Handover(never, first), (0, 1): Handover(tides[1, 2].second, never)}
    chains, stage = chains_of(edges_of(flows, np.flatnonzero(~flows.control())), {}, tides)
    assert chains == [order[::-1] if turned else order]
    assert stage == {rank: place for place, rank in enumerate(chains[0])}
