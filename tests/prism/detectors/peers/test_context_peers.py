"""Test context-parallel ranks of a pipeline: one works longer, others only wait longer."""

import json
from dataclasses import replace

import numpy as np
import pytest

from prism import topology
from prism.detectors.peers.context_peers import above_mates
from prism.detectors.slow_rank import slow_rank
from prism.synth.scenario.presets import FAST
from prism.synth.scenario.specification import Fault, Job, Spec
from prism.synth.simulation import simulate
from tests.prism.faults import named
from tests.prism.traffic import seen

JOB = Job(
    dp=2, pp=2, cp=4, micro=4, steps=18, forward_ms=89, backward_ms=178, optimizer_ms=59, context_octets=24_000_000,
    activation_octets=16_000_000, gradient_octets=400_000_000, jitter=0.02, batched=False,
)  # fmt: skip
FACTOR, SIGMAS = float(np.log(1.2)), 6.0


def job(*faults, **more):
    made = simulate(Spec("a", replace(FAST, hosts=16), (replace(JOB, **more),), faults), 1)
    return seen(made.flows, topology.parse(json.dumps(made.topology), "t.json"), made.transits)


@pytest.mark.parametrize("rank", [8, 11, 13])
def test_who_works_longer_than_its_mates_is_named(rank):
    view = job(Fault("compute_slow", ranks=(rank,), first=9, stop=14, factor=1.32))
    (one,) = above_mates(view, FACTOR, SIGMAS)
    assert one[0] == view.job.endpoints.index(f"10.10.{rank}.1")
    assert (one[1].start, one[1].stop) == (9, 14)
    assert len(one[2]) == 3
    assert one[3] < 0.05
    assert named(slow_rank(view)) == [(f"10.10.{rank}.1",)]


def test_of_a_healthy_job_nobody_is():
    assert above_mates(job(), FACTOR, SIGMAS) == []


def test_who_waits_for_a_slow_nic_does_not_work_longer():
    fault = Fault("nic_throttle", ranks=(9,), first=9, stop=14, factor=4.0)
    assert above_mates(job(fault), FACTOR, SIGMAS) == []


def test_without_mates_there_is_nobody_to_be_above():
    assert above_mates(job(cp=1, context_octets=0, dp=4), FACTOR, SIGMAS) == []


@pytest.mark.parametrize(("typical_too", "found"), [((9, 10, 12), 1), ((9, 12), 0)])
def test_typical_pieces_are_longer_in_most_steps_not_all(typical_too, found):
    view = job()
    typical, largest, total = (work.copy() for work in view.work)
    largest[view.job.endpoints.index("10.10.8.1"), 9:13] *= 1.8
    typical[view.job.endpoints.index("10.10.8.1"), list(typical_too)] *= 1.8
    view.__dict__["work"] = typical, largest, total
    assert len(above_mates(view, FACTOR, SIGMAS)) == found
