from collections import Counter
from dataclasses import replace

import pytest

from prism.detectors.lately import slow_lately
from prism.model import Severity
from tests.prism.faults import named
from tests.prism.traffic import Wire, address, placed, seen, training

STEPS, SLOW, USUAL = 24, 5, 100.0  # the newest step is the last


def job(work, *, dp=2, pp=4, micro=16, least=2, steps=STEPS):
    wire = training(dp=dp, pp=pp, micro=micro, steps=steps, wire=Wire(tcp=True), work=work)
    return replace(seen(wire.flows(), placed(dp * pp)), least=least)


def longer(step, rank):
    return 1.5 * USUAL if rank == SLOW and step == STEPS - 1 else USUAL


def test_who_worked_longer_all_through_one_long_step():
    view = job(longer)
    assert view.period > 1.5e9
    (one,) = slow_lately(view)
    assert (one.detector, one.kind, one.ids, one.severity) == ("lately", "slow_rank", (address(SLOW),), Severity.WARNING)
    assert one.evidence["steps"] == [len(view.ends) - 1, len(view.ends)]
    assert (one.start_ns, one.end_ns) == view.during(*one.evidence["steps"])
    assert one.slowdown == pytest.approx(1.4, abs=0.1)
    assert one.evidence["parts"] >= 3


def test_in_all_that_was_recorded_and_where_steps_are_short_two_steps_tell():
    assert slow_lately(job(longer, least=3)) == []
    assert slow_lately(job(lambda step, rank: longer(step, rank) / 5)) == []


def test_what_was_not_seen_in_few_steps_may_be_common():
    assert slow_lately(job(lambda step, rank: longer(step + 8, rank), steps=STEPS - 8)) == []


def test_a_pause_is_not_all_through_a_step():
    calls = Counter()

    def paused(step, rank):
        calls[step, rank] += 1
        return 8 * USUAL if rank == SLOW and step == STEPS - 1 and calls[step, rank] == 8 else USUAL

    assert slow_lately(job(paused)) == []


@pytest.mark.parametrize(("once", "told"), [((6,), []), ((6, 7), []), ((6, 7, 8), [(address(SLOW),)])])
def test_where_a_step_or_two_are_as_long_this_may_be_one_of_them(once, told):
    assert named(slow_lately(job(lambda step, rank: 1.4 * USUAL if rank == 2 and step in once else longer(step, rank)))) == told


def test_steps_that_several_ranks_made_long_one_after_another_are_single_ones():
    """As where hosts have other load now and then: three on end, each another's."""
    other = {6: 0, 7: 2, 8: 7}
    work = lambda step, rank: 1.4 * USUAL if other.get(step) == rank else longer(step, rank)  # noqa: E731
    assert slow_lately(job(work)) == []


def test_a_step_with_one_piece_of_work_tells_nothing_of_what_lasts():
    work = lambda step, rank: 20 * longer(step, rank)  # noqa: E731
    assert slow_lately(job(work, dp=8, pp=1)) == []


def test_all_that_are_slower_are_nobodys_fault():
    assert slow_lately(job(lambda step, _rank: longer(step, SLOW))) == []
