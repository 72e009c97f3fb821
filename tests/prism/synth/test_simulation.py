from dataclasses import fields, replace

import numpy as np

from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate

SPEC = Spec(jobs=(Job(dp=8, steps=4, gradient_octets=4_000_000),))


def same(a, b):
    return len(a) == len(b) and all(
        np.array_equal(getattr(a, f.name), getattr(b, f.name))
        for f in fields(a)
        if f.name not in ("endpoints", "exporters", "paths")
    )


def test_the_same_seed_gives_the_same_run_and_another_another():
    first, again, other = simulate(SPEC, 3), simulate(SPEC, 3), simulate(SPEC, 4)
    assert same(first.flows, again.flows)
    assert first.truth == again.truth
    assert not same(first.flows, other.flows)


def test_jobs_share_no_endpoint_and_know_each_other_s_broken_uplinks():
    jobs = (Job(dp=8, gpus_used=1, steps=6), Job(name="B", dp=8, gpus_used=1, first_gpu=1, steps=6))
    spec = Spec(cluster=Cluster(gpus=2), jobs=jobs)
    well = simulate(spec)
    ill = simulate(replace(spec, faults=(Fault("uplink_throttle", job="B", switch="leaf1", factor=200.0),)))
    ends = [{n: j["steps_wire"]["0"][-1][2] for n, j in made.truth["jobs"].items()} for made in (well, ill)]
    assert all(ends[1][name] > ends[0][name] + 10**8 for name in ("A", "B"))


def test_a_job_that_crashes_may_come_back():
    job = Job(dp=8, steps=6, transport="tcp", gradient_octets=4_000_000)
    made = simulate(Spec(jobs=(job,), faults=(Fault("crash", ranks=(6,), first=3, restart_s=2.0),)))
    first, second = made.truth["jobs"]["A"], made.truth["jobs"]["A-restart"]
    assert len(first["steps"]["0"]) == 3
    assert len(second["steps"]["0"]) == 6
    assert second["start_ns"] - made.truth["faults"][0]["start_ns"] >= 2 * 10**9
