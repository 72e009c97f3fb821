"""Test findings on slow steps."""

import pytest

from prism.diagnosis.assessment.confidence import Completeness
from prism.diagnosis.assessment.slowdown_findings import Cost, slowdown_finding, without
from prism.model import Severity
from tests.prism.traffic import placed, seen, training

VIEW = seen(training(dp=4).flows(placed(4)), placed(4))


@pytest.mark.parametrize(
    ("sure", "claim", "slowdown", "severity"),
    [(0.9, True, 1.2, Severity.WARNING), (0.9, True, 2.0, Severity.CRITICAL), (0.4, True, 2.0, Severity.INFO),
     (0.9, False, 2.0, Severity.INFO)],
)  # fmt: skip
def test_only_sure_claims_warn(sure, claim, slowdown, severity):
    cost, what = Cost((1, 3), 4e9, 2, slowdown), {"detector": "d", "kind": "slow_rank", "subject": "endpoint", "ids": ("a",)}
    one = slowdown_finding(VIEW, Completeness(1.0), cost, sure, {}, {"x": 1}, claim=claim, score=5.0, message="m", **what)
    assert one.severity is severity
    assert (one.lost_gpu_s, one.evidence["lost_ms_per_step"], one.evidence["x"]) == (16.0, 2000.0, 1)


def test_the_cost_in_words():
    assert without(VIEW, 2.0).startswith("without it steps would take ")
