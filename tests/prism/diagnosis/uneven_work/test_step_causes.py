"""Test causes of slow steps without a broken part."""

from dataclasses import replace

import numpy as np
import pytest

from prism.diagnosis.uneven_work.step_causes import _irregular, _late_input, entry_times, step_causes
from prism.graph.job_transfers import transfers_of
from prism.model import Severity
from prism.synth.scenario.specification import Fault, Job
from tests.prism.traffic import Wire, placed, seen, training
from tests.prism.uneven_jobs import PIPES, claimed, found, step_time, view

DATA = Job(dp=8, steps=20, gradient_octets=50_000_000, forward_ms=60, backward_ms=120)


def test_late_input_is_information():
    (one,) = found(Fault("input_stall", seconds=1.0, first=4, stop=6), Fault("input_stall", seconds=1.0, first=9, stop=10))
    assert (one.kind, one.severity, one.subject) == ("slow_step", Severity.INFO, "job")
    assert one.evidence["late_steps"] == [4, 5, 9]
    assert one.evidence["silent_ms"] == pytest.approx(1000, rel=0.1)
    assert one.evidence["verdict"]["machine"] == 0.0


@pytest.mark.parametrize(("usual", "told"), [(-600, 0), (10, 1)])
def test_where_records_of_steps_overlap_nobody_is_silent(usual, told):
    """Bursts of TCP may last from one step to the next: the first record of a step begins before the last step ends."""
    job = seen(training(dp=8, steps=20).flows(), placed(8))
    took = np.full((19, 8), usual * 1e6)
    took[[3, 4, 8]] += 0.4 * job.period
    assert len(_late_input(job, took)) == told


def test_evaluations_at_regular_intervals_are_no_late_input():
    assert found(job=replace(PIPES, evaluate_every=4, evaluate_s=1.0)) == []


@pytest.mark.parametrize(
    ("late", "left"),
    [
        ({4, 8, 12}, set()),
        ({5, 7, 10, 14, 15, 20, 21}, set()),
        ({4, 5, 9}, {4, 5, 9}),
        ({4, 8, 12, 16, 20, 9, 10}, {9, 10}),
        ({12}, {12}),
        (set(), set()),
    ],
)
def test_what_recurs_is_regular(late, left):
    assert set(_irregular(np.array(sorted(late), np.int64), max(late, default=1) + 3).tolist()) == left


def test_uneven_data_without_a_pipeline():
    job, fault = DATA, Fault("data_imbalance", spread=0.5)
    (one,) = found(fault, job=job)
    assert (one.kind, one.subject) == ("data_imbalance", "job")
    assert one.severity is not Severity.INFO
    assert one.evidence["spread"] == pytest.approx(0.5, abs=0.2)
    assert 1.1 < one.slowdown <= step_time(fault, job=job) / step_time(job=job) + 0.05


@pytest.mark.parametrize(
    "faults",
    [
        (),
        (Fault("data_imbalance", spread=0.05),),
        (Fault("compute_slow", ranks=(5,), factor=1.8),),
        (Fault("compute_slow", ranks=(2,), first=8, factor=1.8),),
        (Fault("nic_throttle", ranks=(2,), first=8, factor=8.0),),
    ],
)
def test_noise_and_slow_parts_are_no_uneven_data(faults):
    job = replace(DATA, jitter=0.08)
    assert claimed(*faults, job=job) == []


def test_a_healthy_job_has_no_causes():
    made = view(job=DATA)
    assert step_causes(made, transfers_of(made)) == []


def test_the_time_before_a_rank_communicates_is_its_work():
    work = lambda step, rank: 40.0 if (step, rank) == (5, 2) else 20.0  # noqa: E731
    view = seen(training(dp=6, work=work, wire=Wire(tcp=True)).flows(placed(6)), placed(6))
    took = entry_times(view, transfers_of(view)) / 1e6
    assert took.shape == (len(view.ends) - 1, 6)
    others = np.delete(took, 4, axis=0)
    assert took[4, 2] > 1.4 * others[:, 2].max()  # the first row is the second step
    assert np.median(others) == pytest.approx(60, rel=0.1)  # forward and backward


def test_ranks_with_different_numbers_of_steps_are_not_compared():
    view = seen(training(dp=4, wire=Wire(tcp=True)).flows(placed(4)), placed(4))
    view.timeline.steps[1].resize((2, 2), refcheck=False)
    assert entry_times(view, transfers_of(view)).shape == (0, 4)
