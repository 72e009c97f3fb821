from dataclasses import replace

import pytest

from prism.detectors.hang import hang
from prism.model import Severity
from tests.prism.faults import FAULTS, RANK, case, named
from tests.prism.traffic import MS, Wire, address, closed, placed, seen, training


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_who_hung_and_nobody_else(fault, tcp):
    assert named(hang(case(fault, tcp=tcp))) == ([(address(RANK),)] if fault == "hang" else [])


def test_what_is_said_of_it():
    view = case("hang")
    (one,) = hang(view)
    assert (one.kind, one.subject, one.severity) == ("hang", "endpoint", Severity.CRITICAL)
    assert view.during(7, 8)[0] <= one.start_ns < one.end_ns < view.during(7, 8)[1]
    assert one.evidence["due_first"] == {address(RANK): 1.0}
    assert one.evidence["step"] == 7
    assert one.evidence["waiting"] == 11
    assert one.evidence["silent_ms"] == pytest.approx(1980, abs=20)


@pytest.mark.parametrize("rank", range(8))
def test_any_rank_of_a_pipeline(rank):
    wire = training(dp=4, pp=2, wire=Wire(tcp=True), pause=lambda step, r: 3000.0 if (step, r) == (9, rank) else 0.0)
    assert named(hang(seen(wire.flows(), placed(8)))) == [(address(rank),)]


def test_a_host_may_hang_as_a_whole_and_two_hosts_together_may_not():
    wire = training(dp=12, wire=Wire(tcp=True), pause=lambda step, r: 3000.0 if step == 9 and r in (4, 5) else 0.0)
    flows = wire.flows()
    assert named(hang(seen(flows, placed(12, nics=2)))) == [("host2",)]
    assert hang(seen(flows, placed(12))) == []


def test_who_writes_to_storage_does_not_hang():
    wire = FAULTS["hang"](Wire(tcp=True))
    start, end = case("hang").during(7, 8)
    for at in range(start, end, 40_000_000):
        wire.send(RANK, 12, 20_000_000, at, src_port=1, dst_port=2049)
    assert hang(seen(wire.flows(), placed(12))) == []


def test_a_silence_at_the_same_place_of_several_steps_is_a_habit():
    wire = training(dp=8, wire=Wire(tcp=True), pause=lambda step, r: 3000.0 if (step % 6, r) == (5, 3) else 0.0)
    assert hang(seen(wire.flows())) == []


def test_twice_as_long_is_no_hang():
    wire = training(dp=8, wire=Wire(tcp=True), pause=lambda step, r: 100.0 if (step, r) == (9, 3) else 0.0)
    assert hang(seen(wire.flows())) == []


def test_what_was_not_collected_is_no_hang():
    flows = training(dp=4, pp=2, wire=Wire(tcp=True), steps=24).flows()
    step = (int(flows.end_ns.max()) - int(flows.start_ns.min())) // 24
    for part in (0.2, 0.4, 0.6, 0.8):
        gap = int(flows.start_ns.min()) + int((8 + part) * step)
        kept = flows.take((flows.end_ns < gap) | (flows.start_ns > gap + int(5.4 * step)))
        assert named(hang(seen(kept, placed(8)))) == []


def test_who_closed_its_connections_does_not_hang():
    wire = closed(training(dp=4, pp=2, wire=Wire(tcp=True), rounds=3), range(8), first=2)
    view = seen(wire.flows(), placed(8))
    assert named(hang(replace(view, until=view.until + 20_000 * MS))) == []
