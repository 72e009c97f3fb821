"""Test which steps a finding covers, and which ranks it blames."""

from prism.detectors.slow_link import slow_link
from prism.diagnosis.assessment.finding_scope import covers_all_steps, ranks_of, steps_of
from tests.prism.faults import NIC, case


def test_steps_and_ranks_of_a_finding():
    view = case("slow NIC")
    (claim,) = slow_link(view)
    assert steps_of(view, claim) == tuple(claim.evidence["steps"])
    assert ranks_of(view, claim) == [view.job.endpoints.index(f"10.0.{NIC}.1")]
    assert not covers_all_steps(view, claim)
