"""Test findings on causes in the job itself."""

import json
from dataclasses import replace

import numpy as np

from prism.diagnosis.uneven_work.job_findings import JOB
from prism.model import Severity
from prism.synth.scenario.specification import Fault
from prism.topology import parse
from tests.prism.traffic import told
from tests.prism.uneven_jobs import found, made


def test_a_part_that_is_slow_in_most_steps_explains_uneven_work():
    fault = Fault("stage_imbalance", stage=3, factor=1.4)
    (one,) = found(fault)
    assert found(fault, known=(replace(one, kind="slow_rank"),)) == []
    assert found(fault, known=(replace(one, kind="slow_rank", severity=Severity.INFO),)) == [one]


def test_the_whole_analysis_reports_it():
    done = made(Fault("stage_imbalance", stage=3, factor=1.4))
    result = told(done.flows, parse(json.dumps(done.topology), "topology.json"))
    (one,) = (f for f in result.findings if f.severity is not Severity.INFO)
    assert (one.kind, one.detector) == ("stage_imbalance", JOB)
    assert one.job == result.jobs[0].job.id
    assert np.isfinite(one.lost_gpu_s)
