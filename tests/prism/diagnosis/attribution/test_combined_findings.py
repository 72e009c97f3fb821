"""Test which findings on stops and on slow steps stay side by side."""

from dataclasses import replace

from prism.diagnosis.assessment.confidence import completeness
from prism.diagnosis.attribution.combined_findings import combine_findings
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.verdicts import findings
from prism.model import Severity
from tests.prism.faults import case, claims_of


def test_a_stop_stays_beside_slow_steps():
    view, (hang,) = case("slow rank"), claims_of(case("hang"))
    seen = completeness(view)
    assert combine_findings(Case(view), [hang], seen) == [*findings(Case(view), seen), hang]


def test_a_stop_that_the_graph_finds_too_is_reported_once():
    view, (hang,) = case("slow rank"), claims_of(case("hang"))
    seen = completeness(view)
    (slow,) = findings(Case(view), seen)
    here = replace(hang, start_ns=slow.start_ns, end_ns=slow.end_ns)
    assert len(combine_findings(Case(view), [here], seen)) == 2  # slow steps are no stop
    assert [one.detector for one in claims_of(case("hang"))] == ["hang"]
    unsure = replace(here, severity=Severity.INFO)
    assert combine_findings(Case(view), [unsure], seen)[-1] is unsure
