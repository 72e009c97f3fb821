import numpy as np
import pytest

from prism.synth.cluster import build
from prism.synth.run import attempt
from prism.synth.spec import Cluster, Fault, Job

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
