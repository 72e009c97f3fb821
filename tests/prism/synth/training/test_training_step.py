import numpy as np
import pytest

from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster, Fault, Job
from prism.synth.training.job_run import attempt

PLANT = build(Cluster(hosts=16, hosts_per_leaf=16))
EXACT = {
    "jitter": 0.0,
    "uneven_ranks": 0.0,
    "spike_chance": 0.0,
    "steps": 6,
    "gradient_octets": 1000,
    "activation_octets": 1000,
}


def durations(job, *faults):
    done = attempt(job, PLANT, faults, [], np.random.default_rng(1), 0.0, "A")
    return np.diff(done.ends, axis=0)[1:] / 1e6


def test_a_step_takes_its_work():
    assert durations(Job(dp=8, load_ms=2, forward_ms=10, backward_ms=20, optimizer_ms=5, **EXACT)) == pytest.approx(37, abs=0.5)


def test_a_pipeline_has_its_bubble():
    job = Job(pp=4, dp=2, micro=8, load_ms=0, forward_ms=10, backward_ms=20, optimizer_ms=0, **EXACT)
    assert np.median(durations(job)) == pytest.approx((8 + 3) * 30, abs=1)


def test_accumulation_repeats_the_work():
    job = Job(dp=8, accumulation=3, load_ms=0, forward_ms=10, backward_ms=20, optimizer_ms=0, **EXACT)
    assert durations(job) == pytest.approx(90, abs=0.5)


def test_a_slow_rank_delays_everybody_by_what_it_lost():
    job = Job(dp=8, load_ms=0, forward_ms=10, backward_ms=20, optimizer_ms=0, **EXACT)
    assert durations(job, Fault("compute_slow", ranks=(3,), factor=1.5))[2:] == pytest.approx(45, abs=0.5)


def test_overlap_hides_the_reduction_of_all_but_the_last_bucket():
    slow = EXACT | {"gradient_octets": 100_000_000}
    apart, along = (
        np.median(durations(Job(dp=8, buckets=4, overlap=o, forward_ms=50, backward_ms=100, **slow))) for o in (False, True)
    )
    assert apart - along == pytest.approx(0.75 * 7.0, rel=0.2)  # 175 MB at 25 MB/ms


def test_tensor_context_and_expert_traffic_is_where_it_should_be():
    job = Job(dp=4, tp=2, cp=2, ep=2, tensor_octets=1000, context_octets=1000, expert_octets=1000, **EXACT)
    done = attempt(job, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    own = {3: done.ranks.tp, 4: done.ranks.cp, 5: done.ranks.ep, 2: done.ranks.dp, 6: done.ranks.edp}
    for batch in done.sent:
        groups = [set(done.ranks.endpoint[g].tolist()) for g in own[batch.lane]]
        assert all(any({a, b} <= g for g in groups) for a, b in zip(batch.src.tolist(), batch.dst.tolist(), strict=True))
    assert {b.lane for b in done.sent} == set(own)


def test_sequences_of_any_length_stretch_work_and_activations_alike():
    job = Job(
        pp=2, dp=2, micro=4, lengths=0.4, load_ms=0, forward_ms=10, backward_ms=20, optimizer_ms=0, **EXACT | {"steps": 12}
    )
    done = attempt(job, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    sizes = np.concatenate([b.octets for b in done.sent if b.lane == 1]).reshape(12, -1)
    assert (sizes == sizes[:, :1]).all()
    length = sizes[:, 0] / 1000
    assert np.std(np.log(length)) == pytest.approx(0.4, rel=0.5)
    took = (done.ends - done.begins)[:, 0] / 1e6
    assert took == pytest.approx(length * 150, rel=0.02)


def test_micro_batches_of_any_length_differ_within_a_step():
    job = Job(pp=2, dp=2, micro=8, micro_lengths=0.3, **EXACT | {"activation_octets": 8_000_000})
    done = attempt(job, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    sizes = np.concatenate([b.octets for b in done.sent if b.lane == 1])
    starts = np.concatenate([b.start for b in done.sent if b.lane == 1])
    first = sizes[starts < done.ends[0].max()]
    assert len(np.unique(first)) > 8  # split at the window
    assert all(len(np.unique(b.src)) == len(b.src) for b in done.sent if b.lane == 1)


def test_sharded_steps_vary_with_the_length_of_their_sequences():
    job = Job(mode="fsdp", dp=4, lengths=0.4, **EXACT)
    took = durations(job)
    assert took.max() > 1.2 * took.min()


def test_tied_embeddings_are_reduced_between_the_ends_of_the_pipeline():
    job = Job(pp=4, dp=2, micro=4, tied_octets=10_000, **EXACT)
    done = attempt(job, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    tied = [b for b in done.sent if b.lane == 8]
    pairs = {(a, b) for t in tied for a, b in zip(t.src.tolist(), t.dst.tolist(), strict=True)}
    ends = done.ranks.endpoint[done.ranks.pp[:, [0, -1]]].tolist()
    assert pairs == {(a, b) for a, b in ends} | {(b, a) for a, b in ends}
    assert sum(int(t.octets.sum()) for t in tied) == job.steps * 2 * 2 * 10_000


def test_a_heavy_last_stage_sets_the_pace_of_the_pipeline():
    job = Job(pp=4, dp=2, micro=8, load_ms=0, forward_ms=10, backward_ms=20, optimizer_ms=0, **EXACT)
    took = durations(job, Fault("stage_imbalance", stage=3, factor=1.5))
    assert np.median(took) == pytest.approx(8 * 45 + 3 * 30, abs=1)


def test_experts_with_more_tokens_work_longer():
    job = Job(dp=4, ep=4, load_ms=0, forward_ms=100, backward_ms=200, optimizer_ms=0, expert_octets=4000, **EXACT)
    usual = np.median(durations(job))
    took = durations(job, Fault("data_imbalance", spread=0.3, experts=True))
    assert usual == pytest.approx(300, abs=2)
    assert took.min() > usual
    assert np.ptp(took) > 10
