"""Test the share of new delays that each candidate explains."""

from dataclasses import replace

import numpy as np
import pytest

from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.explained_delay import lost
from tests.prism.faults import BAD, NIC, RANK, case
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
        one = replace(delays, events=delays.events._replace(idle_for=idle))
        seen.append(float(lost(one, 1.0, usual=True)[0].each[2, late[0]]))
    assert seen[1] < seen[0] / 2
