from dataclasses import replace

import pytest

from prism.detectors.again import late_again
from prism.model import Severity
from tests.prism.faults import named
from tests.prism.traffic import MS, Wire, address, placed, seen, training

RANKS, STEPS, SLOW = 8, 26, 5
USUAL = 1000.0  # ms forwards; backwards take twice as long


def job(work, *, after_ms=5000.0, tcp=True, least=2, steps=STEPS):
    """A job that reduces once a step, as it is seen so long after its newest step began."""
    made = training(dp=RANKS, steps=steps, wire=Wire(tcp=tcp), work=work).flows()
    whole = seen(made, placed(RANKS))
    now = int(whole.ends[-2] + after_ms * MS)
    view = seen(made.take(made.end_ns <= now), placed(RANKS))
    return replace(view, least=least, now=now, until=int(view.flows.end_ns.max()))


def late(step, rank, *, since=STEPS - 2):
    return 2 * USUAL if rank == SLOW and step >= since else USUAL


@pytest.mark.parametrize("tcp", [True, False])
def test_who_is_late_again_is_told_before_that_step_is_over(tcp):
    view = job(late, tcp=tcp)
    (one,) = late_again(view)
    assert (one.detector, one.kind, one.ids) == ("late_again", "slow_rank", (address(SLOW),))
    assert one.severity is Severity.CRITICAL
    assert one.start_ns == view.begins[-1]
    assert one.end_ns == view.now > view.ends[-1]
    assert one.evidence["late_ms"] == pytest.approx(3 * USUAL, rel=0.1)
    assert one.evidence["late_again_ms"] == pytest.approx(2000, rel=0.1)
    assert one.slowdown == pytest.approx(1.9, abs=0.1)


def test_not_before_it_is_late_by_half_as_much_again_nor_once():
    assert late_again(job(late, after_ms=4000.0)) == []
    assert late_again(job(late, after_ms=2500.0)) == []  # nobody has begun to speak
    assert late_again(job(lambda step, rank: late(step, rank) if step < STEPS - 1 else USUAL)) == []
    other = (SLOW + 3) % RANKS
    assert late_again(job(lambda step, rank: late(step, other if step == STEPS - 1 and rank == SLOW else rank))) == []


def test_not_in_all_that_was_recorded_nor_where_little_is_known():
    assert late_again(job(late, least=3)) == []
    assert late_again(job(lambda step, rank: late(step + 12, rank), steps=STEPS - 12)) == []
    assert late_again(job(lambda step, rank: late(step, rank) / 5, after_ms=900.0)) == []  # of short steps two are over soon


@pytest.mark.parametrize(("often", "told"), [(99, [(address(SLOW),)]), (8, [])])
def test_where_ranks_are_late_often_this_may_be_chance(often, told):
    def work(step, rank):
        hiccup = step < STEPS - 2 and step % often == 2 and rank == 1
        return 2 * USUAL if hiccup else late(step, rank)

    assert named(late_again(job(work))) == told


def test_a_healthy_job_that_waits_for_nobody_is_not_blamed():
    assert late_again(job(lambda _step, _rank: USUAL, after_ms=3500.0)) == []
