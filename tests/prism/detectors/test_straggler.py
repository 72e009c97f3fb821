import pytest

from prism.detectors.straggler import straggler
from prism.model import Severity
from tests.prism.faults import BAD, FAULTS, RANK, case, named
from tests.prism.traffic import Wire, address, placed, seen, training


def test_who_worked_for_what_all_lost():
    (one,) = straggler(case("slow rank", tcp=True))
    assert (one.kind, one.ids, one.severity) == ("slow_rank", (address(RANK),), Severity.WARNING)
    assert one.evidence["steps"] == [BAD.start, BAD.stop]
    assert one.evidence["lost_ms_per_step"] == pytest.approx(45, abs=5)


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("fault", FAULTS.keys() - {"slow rank"})
def test_nobody_else_is_named(fault, tcp):
    assert named(straggler(case(fault, tcp=tcp))) == []


def test_of_two_that_are_slow_alike_nobody_is_named():
    slow = lambda step, rank: 40.0 if rank in (1, 5) and step in BAD else 20.0  # noqa: E731
    assert straggler(seen(training(dp=8, wire=Wire(tcp=True), work=slow).flows(), placed(8))) == []


def test_hiccups_that_follow_one_another_by_chance_are_nobodys_fault():
    def job(hiccups):
        slow = lambda step, rank: 40.0 if rank == RANK and step in {20, 21, 22, *hiccups} else 20.0  # noqa: E731
        return seen(training(dp=8, steps=40, wire=Wire(tcp=True), work=slow).flows(), placed(8))

    assert named(straggler(job(()))) == [(address(RANK),)]
    assert straggler(job((3, 7, 12, 16, 27, 31, 36))) == []


def test_most_steps_may_be_slow_and_others_evaluate():
    def job(last):
        slow = lambda step, rank: 40.0 if rank == RANK and 6 <= step < last else 20.0  # noqa: E731
        pause = lambda step, rank: 300.0 * (step in (4, 11, 19) and rank in (RANK, 2))  # noqa: E731
        return seen(training(dp=8, steps=22, wire=Wire(tcp=True), work=slow, pause=pause).flows(), placed(8))

    (one,) = straggler(job(17))
    assert one.ids == (address(RANK),)
    assert one.evidence["lost_ms_per_step"] == pytest.approx(60, rel=0.2)
    assert straggler(job(6)) == []


def test_where_writes_are_one_sided_it_holds_back():
    assert straggler(case("slow rank", tcp=False)) == []


def test_ranks_of_one_host_that_wait_for_one_another_are_their_host():
    slow = lambda step, rank: 40.0 if rank in (4, 5) and step in BAD else 20.0  # noqa: E731
    topology = placed(8, nics=2)
    (one,) = straggler(seen(training(dp=8, wire=Wire(tcp=True), work=slow).flows(), topology))
    assert (one.subject, one.ids) == ("host", (topology.host(address(4)),))
    assert one.evidence["ranks"] == [address(4), address(5)]


def test_who_worked_as_long_in_a_short_step_is_not_why_others_are_long():
    """The rank and its partner wait as often as they work; in short steps, except one, the rank seems to wait."""

    def job(*seen_to_work):
        view = seen(training(dp=8, steps=20, wire=Wire(tcp=True), work=slow).flows(), placed(8))
        work = tuple(piece.copy() for piece in view.work)
        work[2][RANK] = [work[2][RANK, 10] if step in (*range(4, 17), *seen_to_work) else 1e6 for step in range(20)]
        view.__dict__["work"] = work
        return straggler(view)

    slow = lambda step, rank: 25.0 if rank == RANK and 4 <= step < 17 else 20.0  # noqa: E731
    assert [f.ids for f in job()] == [(address(RANK),)]
    assert job(18) == []
