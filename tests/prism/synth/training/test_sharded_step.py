import numpy as np
import pytest

from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster, Job
from prism.synth.training.job_run import attempt

PLANT = build(Cluster(hosts=8, hosts_per_leaf=8))


def test_every_layer_is_gathered_twice_and_scattered_once():
    job = Job(mode="fsdp", dp=8, steps=3, layers=4, gradient_octets=8_000_000)
    done = attempt(job, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    octets = sum(int(b.octets[b.src == 0].sum()) for b in done.sent)
    assert octets == pytest.approx(3 * 3 * 7_000_000, rel=0.01)


def test_gathering_ahead_hides_traffic_behind_work():
    job = Job(mode="fsdp", dp=8, steps=4, layers=4, gradient_octets=80_000_000, forward_ms=50, backward_ms=100, jitter=0.0)
    done = attempt(job, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    step = np.median(np.diff(done.ends, axis=0)) / 1e6
    assert 162 < step < 172  # 162 of work; what is sent takes 8.4
