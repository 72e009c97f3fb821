"""Test that the event graph confirms or overrules claims of detectors."""

from dataclasses import replace

from prism.diagnosis.assessment.confidence import Completeness, completeness
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.confirmation import combine_findings, is_confirmed
from prism.diagnosis.attribution.verdicts import GRAPH, findings
from prism.model import Severity
from tests.prism.faults import NIC, RANK, case
from tests.prism.traffic import address

WHOLE = Completeness(1.0)


def claimed(name, who):
    """Build a claim on a rank for the steps of a slow rank."""
    (one,) = findings(Case(case("slow rank")), WHOLE)
    return replace(one, ids=(address(who),), detector=name, evidence={**one.evidence, "ranks": [address(who)]})


def test_who_explains_the_delays_is_upheld_and_nobody_else():
    whole = Case(case("slow rank"))
    assert is_confirmed(whole, claimed("other", RANK))
    assert not is_confirmed(whole, claimed("other", NIC + 3))


def test_what_others_say_of_the_same_time_is_information():
    view = case("slow rank")
    out = combine_findings(Case(view), [claimed("other", RANK), claimed("other", NIC + 3)], completeness(view))
    assert [one.detector for one in out if one.severity is not Severity.INFO] == [GRAPH]
    assert len(out) == 3


def test_a_hang_is_not_its_business():
    view = case("slow rank")
    hang = replace(claimed("hang", NIC), kind="hang")
    assert hang in combine_findings(Case(view), [hang], completeness(view))


def test_where_nothing_is_known_claims_stay():
    view = case("slow rank")
    bare = Case(view)
    vars(bare).update(transfers=None, lately=None, always=[])
    assert is_confirmed(bare, claimed("other", NIC))


def test_in_a_live_window_rates_decide_between_parts_of_the_network():
    view = replace(case("slow NIC"), least=2)
    (known,) = findings(Case(view), WHOLE)
    link = replace(known, detector="slow_link", ids=(address(RANK), address(NIC)), subject="link")
    assert [one.detector for one in combine_findings(Case(view), [link], WHOLE)] == ["slow_link"]
    worker = replace(case("slow rank"), least=2)
    (rank,) = findings(Case(worker), WHOLE)
    out = combine_findings(Case(worker), [replace(link, start_ns=rank.start_ns, end_ns=rank.end_ns)], WHOLE)
    assert [one.ids for one in out if one.severity is not Severity.INFO] == [rank.ids]
