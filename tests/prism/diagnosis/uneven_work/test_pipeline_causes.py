"""Test causes of uneven work in pipelines."""

from dataclasses import replace

import pytest

from prism.diagnosis.uneven_work.pipeline_causes import pipeline_causes
from prism.graph.job_transfers import transfers_of
from prism.graph.stage_work import stage_work
from prism.model import Severity
from prism.synth.scenario.specification import Fault
from tests.prism.uneven_jobs import PIPES, claimed, found, step_time, view


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "interleaved"])
@pytest.mark.parametrize(("stage", "factor"), [(3, 1.4), (2, 1.5), (1, 2.0)])
def test_a_heavy_stage_is_named_with_its_cost(stage, factor, schedule):
    job, fault = replace(PIPES, schedule=schedule), Fault("stage_imbalance", stage=stage, factor=factor)
    (one,) = found(fault, job=job)
    assert (one.kind, one.subject) == ("stage_imbalance", "endpoint")
    assert one.ids == tuple(f"10.10.{rank}.1" for rank in (2 * stage, 2 * stage + 1))
    assert one.severity is not Severity.INFO
    assert one.slowdown == pytest.approx(step_time(fault, job=job) / step_time(job=job), rel=0.05)
    assert one.evidence["work_ms"] / one.evidence["usual_work_ms"] == pytest.approx(factor, rel=0.05)
    verdict = one.evidence["verdict"]
    assert verdict["job"] == one.confidence >= 0.5
    assert sum(verdict.values()) == pytest.approx(1.0)


def test_uneven_data_are_told_from_a_slow_part():
    fault = Fault("data_imbalance", spread=0.4)
    (one,) = found(fault)
    assert (one.kind, one.subject, one.ids) == ("data_imbalance", "job", (view(fault).job.id,))
    assert one.severity is not Severity.INFO
    assert one.evidence["spread"] == pytest.approx(0.4, abs=0.15)
    assert one.evidence["stage_spread"] < 0.1
    assert 1.1 < one.slowdown < step_time(fault) / step_time() + 0.1


@pytest.mark.parametrize(
    "faults",
    [
        (),
        (Fault("stage_imbalance", stage=3, factor=1.05),),
        (Fault("stage_imbalance", stage=3, factor=1.4), Fault("stage_imbalance", stage=0, factor=1.4)),  # embedding and loss
        (Fault("compute_slow", ranks=(5,), factor=1.8),),
        (Fault("data_imbalance", spread=0.05),),
        (Fault("input_stall", seconds=1.0),),
    ],
    ids=["nothing", "light", "both ends", "one rank", "little", "always"],
)
def test_nothing_is_claimed_without_such_a_cause(faults):
    assert claimed(*faults) == []


@pytest.mark.parametrize(
    "fault", [Fault("stage_imbalance", stage=2, factor=1.6), Fault("compute_slow", ranks=(2,), factor=1.6)]
)
def test_in_a_single_pipeline_an_inner_stage_is_slow_or_has_more_work(fault):
    (one,) = found(fault, job=replace(PIPES, dp=1))
    assert (one.kind, one.ids) == ("slow_rank", ("10.10.2.1",))
    assert one.confidence < 0.8
    assert one.evidence["verdict"]["machine"] == one.confidence
    assert sum(one.evidence["verdict"].values()) == pytest.approx(1.0)
    assert one.evidence["verdict"]["job"] == pytest.approx(0.3, abs=0.01)


def test_in_a_single_pipeline_the_last_stage_has_the_loss_or_is_slow():
    (one,) = found(Fault("stage_imbalance", stage=3, factor=1.6), job=replace(PIPES, dp=1))
    assert (one.kind, one.severity) == ("stage_imbalance", Severity.INFO)


def test_without_a_pipeline_there_are_no_causes():
    made = view(job=replace(PIPES, pp=1, dp=8))
    assert pipeline_causes(made, transfers_of(made)) == []


def test_chunks_of_two_stages_whose_order_is_unknown_show_no_heavy_stage():
    """Both ways carry forward and backward there, of several chunks: they cannot be told apart."""
    assert claimed(job=replace(PIPES, pp=2, dp=4, schedule="interleaved")) == []


@pytest.mark.parametrize("idle", [(0, 1, 3), (1, 2, 3)])
def test_no_stage_is_compared_with_stages_that_show_no_work(idle, monkeypatch):
    """Hand-overs that follow one another at once leave no time for the work between them."""
    made = view(job=PIPES)

    def none_but_one(found):
        work, ahead = stage_work(found)
        work[:, idle] = 0.0
        return work, ahead

    monkeypatch.setattr("prism.diagnosis.uneven_work.pipeline_causes.stage_work", none_but_one)
    assert pipeline_causes(made, transfers_of(made)) == []
