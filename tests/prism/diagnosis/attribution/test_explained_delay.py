"""Test the share of new delays that each candidate explains."""

from dataclasses import replace
from types import SimpleNamespace as Fake

import numpy as np
import pytest

from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.explained_delay import Lost, lost, weights
from tests.prism.faults import BAD, NIC, RANK, case, with_parts
from tests.prism.traffic import address


@pytest.mark.parametrize(("name", "cause", "who"), [("slow rank", "work", RANK), ("slow NIC", "network", NIC)])
def test_the_culprit_explains_most_in_every_slow_step(name, cause, who):
    comparison = Case(case(name)).versus_own_steps
    for step in BAD:
        best = comparison.which[int(np.argmax(comparison.share[:, step]))]
        assert (best.cause, best.ids) == (cause, (address(who),))


def test_delays_are_told_apart_by_when_they_are_born():
    rank, nic = (Case(case(name)).versus_own_steps.gone for name in ("slow rank", "slow NIC"))
    steps = list(BAD)
    assert rank.before[:, steps].sum() > 10 * rank.within[:, steps].sum()
    assert nic.network[steps].tolist() == [1.0] * len(steps)
    assert nic.within[:, steps].max(axis=0).min() > nic.before[:, steps].max(axis=0).max()


def test_ends_never_explain_more_than_there_is():
    gone = Case(case("slow rank")).versus_own_steps.gone
    assert np.all(gone.sender <= gone.before + 1)
    assert np.all(gone.receiver <= gone.before + 1)
    assert np.allclose(gone.total, gone.before.sum(axis=0) + gone.within.sum(axis=0))


def test_a_receiver_that_took_part_just_before_a_delay_did_not_work_meanwhile():
    delays = Case(case("slow rank", tcp=False)).versus_own_steps.delays
    t = delays.transfers
    usual = np.where(np.isfinite(delays.rested[1]), delays.rested[1], 0.0)
    late = np.flatnonzero((delays.own > 5e6) & (usual > delays.own / 2) & np.isin(t.step, list(BAD)))[:1]
    seen = []
    for before in (np.inf, 0.0):
        idle = delays.events.idle_for.copy()
        idle[1, late] = delays.own[late] + before
        one = replace(delays, events=with_parts(delays.events, idle_for=idle))
        seen.append(float(lost(one, 1.0, np.arange(16), usual=True)[0].each[2, late[0]]))
    assert seen[1] < seen[0] / 2


def test_delays_of_several_hosts_that_end_at_once_count_as_those_of_one():
    lanes, begins = np.array([[0, 1], [2, 3], [4, 5], [0, 2], [1, 0]]), np.array([[5.0, 5.0, 6.0, 1000.0, 1000.0]])
    events = Fake(dependencies=Fake(soon=(10.0, 0.02)))
    delays = Fake(transfers=Fake(lanes=lanes, lane=np.arange(5)), events=events, at=begins)
    assert weights(delays, np.full(5, 100.0), np.arange(6)) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1, 1])
    assert weights(delays, np.full(5, 100.0), np.array([0, 3, 0, 4, 5, 6])) == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1, 1])
    assert weights(delays, np.zeros(5), np.arange(6)).tolist() == [1] * 5


def test_what_lanes_lose_now_and_then_is_not_typical():
    before = np.array([[30.0, 31, 30, 2, 30], [0, 0, 90, 0, 0], [80, 0, 0, 0, 0]])
    gone = Lost(before, before, before, 0 * before, 0 * before, before, False, before[0], before)
    typical = gone.typical(np.array([True] * 5), np.array([[0, 1], [1, 2], [2, 3]]))
    assert typical.before.tolist() == [[30.0], [0], [0]]


def test_a_rank_that_sends_late_is_not_ready_to_receive_either():
    """5 sends as late to 4 as 6 sends to it; 7 waits for nobody."""
    sender = np.repeat([[160.0], [170.0], [0.0]], 3, axis=1)
    gone = Lost(sender, sender, sender, sender / 4, 0 * sender, sender, False, sender[0], sender)
    typical = gone.typical(np.array([True] * 3), np.array([[5, 4], [6, 5], [7, 6]]))
    assert typical.receiver[:, 0].tolist() == [40, 160, 0]
