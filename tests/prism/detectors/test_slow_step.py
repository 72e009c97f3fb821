import pytest

from prism.detectors.slow_step import slow_group, slow_step
from prism.model import Severity
from tests.prism.faults import BAD, FAULTS, case
from tests.prism.traffic import Wire, address, seen, training


def test_steps_longer_than_the_others():
    view = case("slower all")
    (one,) = slow_step(view)
    assert (one.kind, one.subject, one.ids, one.severity) == ("slow_step", "job", (view.job.id,), Severity.INFO)
    assert one.evidence["steps"] == [BAD.start, BAD.stop]
    assert one.slowdown == pytest.approx(165 / 120, abs=0.05)


@pytest.mark.parametrize("fault", ["nothing", "NIC always slow", "rank always slow", "end"])
def test_steps_that_are_alike_are_not_long(fault):
    assert slow_step(case(fault)) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_symptoms_accuse_nobody(fault):
    assert {f.severity for f in slow_step(case(fault)) + slow_group(case(fault))} <= {Severity.INFO}


def test_a_group_slower_than_the_others():
    def rate(step, src, dst):
        return 3.0 if step in BAD and src // 4 == dst // 4 == 2 else 10.0

    view = seen(training(dp=4, pp=4, wire=Wire(), rate=rate, octets=80_000_000).flows())
    assert tuple(address(r) for r in range(8, 12)) in [f.ids for f in slow_group(view)]


def test_two_groups_cannot_say_which_is_odd():
    wire = training(dp=4, pp=2, rate=lambda step, *pair: 3.0 if step in BAD and max(pair) < 4 else 10.0)
    assert slow_group(seen(wire.flows())) == []
