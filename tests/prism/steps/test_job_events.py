import random

import pytest

from collectors.columns.record import SYN
from prism.diagnosis.assessment.confidence import completeness
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.verdicts import findings
from prism.diagnosis.stops.hang import hang
from prism.steps.job_events import after_pauses, events, uneven
from tests.prism.traffic import MS, T0, Wire, closed, placed, seen, training


def window(view, before=0, after=0):
    return view.job.start_ns - before * MS, view.job.end_ns + after * MS


def happened(wire, findings=()):
    view = seen(wire.flows(), placed(8))
    return [event for event in events(view, list(findings), window(view)) if event.kind not in ("start", "stop")], view


def paused(*, dp=8, pp=1, tcp=False):
    return training(dp=dp, pp=pp, wire=Wire(tcp=tcp), pause=lambda step, _rank: 800.0 * (step == 7))


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize(("dp", "pp"), [(8, 1), (4, 2)])
def test_a_pause_of_all_is_an_evaluation(dp, pp, tcp):
    (event,), view = happened(paused(dp=dp, pp=pp, tcp=tcp))
    assert event.kind == "evaluation"
    assert view.ends[6] - 20 * MS <= event.start_ns < event.end_ns <= view.ends[7]
    assert event.end_ns - event.start_ns >= 800 * MS


def test_a_pause_in_which_storage_is_written_is_a_checkpoint():
    wire = paused()
    (event,), _ = happened(wire)
    for rank in range(8):
        wire.send(rank, 8, 40_000_000, event.start_ns + 100 * MS)
    (event,), _ = happened(wire)
    assert event.kind == "checkpoint"


def test_a_pause_in_which_connections_are_opened_is_a_restart():
    wire = paused(tcp=True)
    (event,), _ = happened(wire)
    for rank in range(8):
        wire.send(rank, (rank + 1) % 8, 0, event.end_ns - 50 * MS, tcp_flags=SYN, messages=0)
    (event,), _ = happened(wire)
    assert event.kind == "restart"


@pytest.mark.parametrize(("before", "after", "kinds"), [(0, 0, []), (500, 0, ["start"]), (0, 500, ["stop"]), (50, 50, [])])
def test_a_job_starts_and_stops_where_the_window_goes_on_without_it(before, after, kinds):
    view = seen(training(dp=8).flows())
    found = events(view, [], window(view, before, after))
    assert [e.kind for e in found] == kinds
    assert {e.start_ns for e in found} <= {view.job.start_ns, view.job.end_ns}


def test_a_job_starts_and_stops_where_it_opens_and_closes_its_connections():
    wire = training(dp=8, wire=Wire(tcp=True))
    wire.send(0, 1, 0, T0, tcp_flags=SYN, messages=0)
    view = seen(closed(wire, range(8), first=0).flows())
    assert [e.kind for e in events(view, [], window(view))] == ["start", "stop"]


def test_a_silence_that_a_hang_explains_is_no_event():
    wire = training(dp=8, wire=Wire(tcp=True), pause=lambda step, rank: 800.0 * ((step, rank) == (7, 3)))
    view = seen(wire.flows(), placed(8))
    findings = hang(view)
    assert [f.ids for f in findings] == [("10.0.3.1",)]
    assert happened(wire, findings)[0] == []
    assert len(happened(wire)[0]) == 1


def test_slow_steps_are_no_pause():
    found, _ = happened(training(dp=8, work=lambda step, _rank: 24.0 if step > 7 else 20.0))
    assert found == []


def test_pauses_are_no_unevenness():
    """Every tenth step is followed by an evaluation, one in two of them by a longer one."""
    wire = training(dp=8, steps=40, pause=lambda step, _rank: (3000.0 + 6000 * (step % 20 == 9)) * (step % 10 == 9))
    view = seen(wire.flows(), placed(8))
    assert uneven(view) < 0.1
    slow = training(dp=8, steps=24, work=lambda step, _rank: 20.0 * (1 + random.Random(step).randrange(5)))
    view = seen(slow.flows(), placed(8))
    assert uneven(view) == view.uneven > 0.3


@pytest.mark.parametrize("pause", [0.0, 1200.0])
def test_what_is_slow_after_a_pause_is_so_since_its_end(pause):
    wire = training(
        dp=4,
        pp=2,
        steps=24,
        work=lambda step, rank: 60.0 if (rank, step // 6) == (3, 2) else 20.0,
        pause=lambda step, _rank: pause * (step == 12),
    )
    view = seen(wire.flows(), placed(8))
    before = findings(Case(view), completeness(view))
    (found,) = [f for f in after_pauses(view, before) if f.ids == ("10.0.3.1",)]
    assert {f.start_ns for f in before} == {view.begins[12]}
    assert (found.start_ns - view.begins[12]) / MS == pytest.approx(pause, abs=50)
    assert found.evidence.get("paused_ms", 0.0) == pytest.approx((found.start_ns - view.begins[12]) / MS)
    assert found.end_ns == view.ends[17]
