from dataclasses import replace

from prism.diagnosis.assessment.confidence import completeness
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.finding_assessment import assess_findings
from prism.diagnosis.attribution.verdicts import findings
from prism.model import Severity
from tests.prism.diagnosis.attribution.test_finding_cost import claims_of
from tests.prism.faults import case


def test_a_claim_says_what_it_cost_whom_to_isolate_and_how_sure_it_is():
    view = case("slow rank")
    (found,) = assess_findings(Case(view), findings(Case(view), completeness(view)), completeness(view))
    assert found.severity is not Severity.INFO
    assert 1.1 < found.slowdown < 2
    assert found.lost_gpu_s > 0
    assert found.isolate.hosts == ("host5",)
    assert 0.8 <= found.confidence <= 1
    assert found.evidence["observed_slowdown"] > 1.1
    assert found.evidence["what_if"] is None or found.evidence["what_if"] == found.slowdown


def test_a_claim_of_little_confidence_is_an_observation():
    view = case("slow NIC")
    (claim,) = claims_of(view)
    (found,) = assess_findings(Case(view), [replace(claim, score=1.0)], completeness(view))
    assert found.severity is Severity.INFO
    assert found.confidence < 0.5


def test_without_findings_nothing_is_done():
    assert assess_findings(Case(case("nothing")), [], completeness(case("nothing"))) == []
