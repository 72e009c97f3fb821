"""Test information on slow steps that no candidate explains."""

import pytest

from prism.diagnosis.assessment.confidence import completeness
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.unexplained_steps import unexplained
from prism.diagnosis.attribution.verdicts import findings
from prism.model import Severity
from tests.prism.faults import BAD, case


def test_steps_in_which_all_work_longer_are_told_and_nobody_is_blamed():
    view = case("slower all")
    (one,) = unexplained(Case(view), [], completeness(view))
    first, stop = view.numbers(BAD.start, BAD.stop)
    assert (one.severity, one.kind, one.ids, one.evidence["steps"]) == (
        Severity.INFO,
        "slow_step",
        (view.job.id,),
        [first, stop],
    )
    assert one.message.startswith(f"steps {first} to {stop - 1} take ")
    assert one.evidence["verdict"]["unknown"] > 0.5
    assert one.evidence["candidates"]
    assert one.slowdown == pytest.approx(view.slowdown(BAD.start, BAD.stop), rel=0.01)


def test_steps_that_a_finding_explains_are_not_told_again():
    view = case("slow rank")
    every = Case(view)
    seen = completeness(view)
    assert [one.evidence["steps"] for one in unexplained(every, [], seen)] == [view.numbers(BAD.start, BAD.stop)]
    assert unexplained(every, findings(every, seen), seen) == []


@pytest.mark.parametrize("name", ["nothing", "evaluation", "rank always slow"])
def test_where_no_step_is_slow_nothing_is_told(name):
    view = case(name)
    assert unexplained(Case(view), [], completeness(view)) == []
