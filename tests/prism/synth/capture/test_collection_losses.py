from dataclasses import replace

import numpy as np
import pytest

from prism.synth.scenario.specification import Degradation, Job, Spec
from prism.synth.simulation import simulate

SPEC = Spec(jobs=(Job(dp=8, steps=6, gradient_octets=40_000_000),))
WHOLE = simulate(SPEC).flows


def degraded(**asked):
    return simulate(replace(SPEC, degradation=Degradation(**asked)))


def test_samples_stand_for_all_packets():
    flows = degraded(sampling=50).flows
    assert (flows.packets * flows.sampling_rate).sum() == pytest.approx(WHOLE.packets.sum(), rel=0.05)
    assert (flows.octets * flows.sampling_rate).sum() == pytest.approx(WHOLE.octets.sum(), rel=0.05)
    assert (flows.end_ns >= flows.start_ns).all()


def test_lost_records_are_gone():
    assert len(degraded(loss=0.25).flows) == pytest.approx(0.75 * len(WHOLE), rel=0.1)


def test_sums_keep_octets():
    flows = degraded(aggregate_s=0.5).flows
    assert len(flows) < len(WHOLE) / 4
    assert flows.octets.sum() == WHOLE.octets.sum()


def test_each_switch_has_a_clock_of_its_own():
    flows = degraded(skew_ms=5.0).flows
    for code in np.unique(flows.exporter):
        own, was = flows.take(flows.exporter == code), WHOLE.take(WHOLE.exporter == code)
        assert len(np.unique(own.start_ns - was.start_ns)) == 1
    assert (np.diff(flows.start_ns) >= 0).all()


def test_a_part_of_the_time_has_a_part_of_the_truth():
    made = degraded(keep=0.5)
    steps = made.truth["jobs"]["A"]["steps_wire"]["0"]
    assert 0 < len(steps) < 6
    assert made.flows.start_ns.min() <= steps[0][1]
    assert made.flows.end_ns.max() >= steps[-1][2]
