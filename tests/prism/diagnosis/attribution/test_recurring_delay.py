"""Test delays that recur, against single hiccups that cost more."""

import pytest

from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.recurring_delay import work_ratio
from prism.diagnosis.attribution.slow_steps import verdicts
from tests.prism.faults import BAD, RANK, TOPOLOGY, case, job
from tests.prism.traffic import Wire, address, seen

HICCUPS = dict(zip(BAD, (1, 8, 3, 9, 2), strict=True))  # another rank stands still in every slow step


def noisy():
    work = lambda step, rank: 35.0 if rank == RANK and step in BAD else 20.0  # noqa: E731
    pause = lambda step, rank: 60.0 if HICCUPS.get(step) == rank else 0.0  # noqa: E731
    return seen(job(Wire(tcp=True), work=work, pause=pause).flows(TOPOLOGY), TOPOLOGY)


def test_what_recurs_is_told_from_hiccups_that_cost_more():
    one = Case(noisy())
    assert {found.candidate.ids for found in verdicts(one)} == {(address(RANK),)}


@pytest.mark.parametrize("tcp", [False, True])
def test_a_rank_that_always_works_longer_is_compared_with_its_peers(tcp):
    peers = Case(case("rank always slow", tcp=tcp)).versus_peers
    during = peers.during(0, peers.delays.transfers.steps)
    own = {one.ids[0]: one for one in peers.which if one.cause == "work"}
    assert work_ratio(peers.delays, own[address(RANK)], during) == pytest.approx(35 / 20, rel=0.05)
    cost = {rank: peers.cost(own[address(rank)], during) / during.sum() for rank in (RANK, RANK + 3)}
    assert cost[RANK] == pytest.approx(45e6, rel=0.05)
    assert cost[RANK + 3] < 2e6
