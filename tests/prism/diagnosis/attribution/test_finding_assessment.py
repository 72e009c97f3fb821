from dataclasses import replace

import pytest

from prism.diagnosis.assessment.confidence import completeness
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.finding_assessment import assess_findings, outage_ns
from prism.diagnosis.attribution.verdicts import findings
from prism.model import Severity
from tests.prism.faults import case, claims_of


def test_a_claim_says_what_it_cost_whom_to_isolate_and_how_sure_it_is():
    view = case("slow rank")
    (found,) = assess_findings(view, findings(Case(view), completeness(view)), completeness(view))
    assert found.severity is not Severity.INFO
    assert 1.1 < found.slowdown < 2
    assert found.lost_gpu_s > 0
    assert found.isolate.hosts == ("host5",)
    assert 0.8 <= found.confidence <= 1
    assert found.evidence["observed_slowdown"] > 1.1
    assert found.evidence["what_if"] is None or found.evidence["what_if"] == found.slowdown


def test_a_claim_of_little_confidence_is_an_observation():
    view = case("hang")
    (claim,) = claims_of(view)
    (found,) = assess_findings(view, [replace(claim, score=1.0)], completeness(view))
    assert found.severity is Severity.INFO
    assert found.confidence < 0.5


def test_without_findings_nothing_is_done():
    assert assess_findings(case("nothing"), [], completeness(case("nothing"))) == []


@pytest.mark.parametrize("name", ["hang", "crash"])
def test_a_stop_costs_the_time_itself(name):
    view = case(name)
    (claim,) = claims_of(view)
    lost = outage_ns(view, claim)
    assert lost > 0
    if name == "hang":
        assert lost == pytest.approx(2e9, rel=0.05)
    (found,) = assess_findings(view, [claim], completeness(view))
    assert found.lost_gpu_s == pytest.approx(lost / 1e9 * len(view.job.endpoints), abs=0.1)
    assert found.evidence["what_if"] is None
