import numpy as np
import pytest

from prism.synth.scenario.cluster import build
from prism.synth.scenario.specification import Cluster, Fault, Job
from prism.synth.training.job_run import Run, attempt

PLANT = build(Cluster(hosts=8))
JOB = Job(dp=8, steps=8, buckets=4, overlap=True, transport="tcp", gradient_octets=8_000_000)


def run(job=JOB, *faults, windows=()):
    return attempt(job, PLANT, faults, list(windows), np.random.default_rng(1), 0.0, "A")


def test_nothing_differs_before_a_fault_begins():
    well, ill = run(), run(JOB, Fault("compute_slow", ranks=(3,), first=4, factor=2.0))
    assert (well.ends[:4] == ill.ends[:4]).all()
    assert (well.ends[4] < ill.ends[4]).all()


def test_a_hang_delays_everybody_by_its_length():
    well, ill = run(), run(JOB, Fault("hang", ranks=(3,), first=4, seconds=3.0))
    assert np.median(ill.ends[4] - well.ends[4]) == pytest.approx(3e9, rel=0.01)
    ((_, begin, end),) = ill.faults
    assert well.ends[3].max() < begin < well.ends[4].min()
    assert end - begin == 3e9


def test_a_crash_ends_everything_and_the_dead_rank_goes_first():
    done = run(JOB, Fault("crash", ranks=(6,), first=4))
    ((_, crash, _),) = done.faults
    assert done.crashed
    assert len(done.ends) == 4
    assert np.argmin(done.closes) == 6
    assert max(float(b.end.max()) for b in done.sent if len(b.end)) <= done.over < crash + 1e8
    dead = [b.end[(b.src == 6) | (b.dst == 6)] for b in done.sent]
    assert max(float(d.max()) for d in dead if len(d)) <= crash


@pytest.mark.parametrize("kind", ["nic_throttle", "nic_loss"])
def test_a_fault_of_the_network_lasts_from_step_to_step(kind):
    done = run(JOB, Fault(kind, ranks=(6,), first=2, stop=5))
    ((_, begin, end),) = done.faults
    assert begin == done.begins[2].min()
    assert end == done.begins[5].min()


def test_evaluations_and_checkpoints_are_pauses():
    done = run(Job(dp=8, steps=8, evaluate_every=3, evaluate_s=2.0, checkpoint_every=4))
    assert [(kind, step) for kind, step, _, _ in done.pauses] == [("eval", 2), ("ckpt", 3), ("eval", 5)]
    assert done.begins[3].min() - done.ends[2].max() >= 2e9


def test_what_each_rank_says_it_last_heard_is_within_its_step():
    done = run(Job(dp=4, pp=2, steps=6, micro=4, world_reduce=True))
    assert (done.wires >= done.begins).all()
    assert (done.wires <= done.ends).all()


def test_a_job_may_sleep():
    done = run(Job(dp=8, steps=8, pause_after=4, pause_s=30.0))
    ((kind, step, begin, end),) = done.pauses
    assert (kind, step) == ("pause", 4)
    assert done.begins[5].min() - done.ends[4].max() == pytest.approx(30e9, rel=0.01)
    assert end - begin >= 30e9


def test_what_was_taken_step_by_step_is_what_was_sent():
    plain = attempt(JOB, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    steps = Run(JOB, PLANT, (), [], np.random.default_rng(1), 0.0, "A")
    taken, laters = [], []
    for later in steps.steps():
        sent, told = steps.taken()
        assert all(b.start.min() >= (laters or [0])[-1] for b in (*sent, *told) if len(b.start))
        taken += sent
        laters.append(later)
    done = steps.finish()
    assert done.sent == []
    assert np.concatenate([b.end for b in taken]).tolist() == np.concatenate([b.end for b in plain.sent]).tolist()
    assert (done.ends == plain.ends).all()
    assert laters == sorted(laters)
