"""Test which ranks a finding blames."""

from prism.diagnosis.assessment.finding_scope import ranks_of
from tests.prism.faults import NIC, case, claims_of


def test_ranks_of_a_finding():
    view = case("slow NIC")
    (claim,) = claims_of(view)
    assert ranks_of(view, claim) == [view.job.endpoints.index(f"10.0.{NIC}.1")]
