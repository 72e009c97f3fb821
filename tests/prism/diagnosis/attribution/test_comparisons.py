"""Test comparisons of a job with its own quick steps and with peers."""

from dataclasses import replace

import numpy as np

from prism.diagnosis.attribution.comparisons import Case
from tests.prism.faults import BAD, NIC, RANK, case
from tests.prism.traffic import address


def test_too_few_steps_make_no_scene():
    view = case("nothing")
    few = Case(replace(view, timeline=replace(view.timeline, steps=tuple(own[:2] for own in view.timeline.steps))))
    assert few.transfers is None
    assert few.versus_own_steps is None
    assert few.versus_peers == []


def test_what_steps_would_save_counts_beside_what_a_candidate_touches():
    comparison = Case(case("slow rank")).versus_own_steps
    during = comparison.during(BAD.start, BAD.stop)
    explained = comparison.explained(during)
    assert comparison.which[int(np.argmax(explained))].ids == (address(RANK),)
    assert np.all(explained >= np.median(comparison.share[:, during], axis=1) - 1e-9)
    assert not comparison.explained(comparison.during(3, 3)).any()


def test_peers_are_looked_at_in_steps_that_say_what_is_usual():
    (anywhere, *beside) = Case(case("rank always slow")).versus_peers
    assert anywhere.always
    assert not anywhere.beside
    assert all(comparison.beside for comparison in beside)
    steps = np.flatnonzero(anywhere.during(0, anywhere.delays.transfers.steps))
    assert steps.tolist() == anywhere.delays.model.tolist()


def test_the_lanes_that_a_slow_nic_slows_are_its_own():
    comparison = Case(case("slow NIC")).versus_own_steps
    during = comparison.during(BAD.start, BAD.stop)
    best = comparison.which[int(np.argmax(comparison.explained(during)))]
    slowed = comparison.slowed(best, during)
    assert set(slowed.tolist()) == set(best.lanes.tolist())
    assert (comparison.delays.transfers.lanes[slowed] == NIC).any(axis=1).all()


def test_a_slow_part_that_hardly_matters_costs_little():
    """Of steps that are late for another reason, a slower NIC costs only what its transfers take longer."""
    comparison = Case(case("slow rank")).versus_own_steps
    during = comparison.during(BAD.start, BAD.stop)
    more = float(comparison.delays.more[during].sum())
    rank, nic = (
        next(one for one in comparison.which if one.ids == (address(RANK),) and one.cause == cause)
        for cause in ("work", "network")
    )
    assert comparison.cost(rank, during, slower=False) >= 0.8 * more
    assert comparison.cost(nic, during, slower=True) <= 0.2 * more
