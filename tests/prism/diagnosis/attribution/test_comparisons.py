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
    assert few.versus_peers is None


def test_what_steps_would_save_counts_beside_what_a_candidate_touches():
    comparison = Case(case("slow rank")).versus_own_steps
    during = comparison.during(BAD.start, BAD.stop)
    explained = comparison.explained(during)
    assert comparison.which[int(np.argmax(explained))].ids == (address(RANK),)
    assert np.all(explained >= np.median(comparison.share[:, during], axis=1) - 1e-9)
    assert not comparison.explained(comparison.during(3, 3)).any()


def test_peers_are_looked_at_in_steps_that_say_what_is_usual():
    comparison = Case(case("rank always slow")).versus_peers
    assert comparison.always
    steps = np.flatnonzero(comparison.during(0, comparison.delays.transfers.steps))
    assert steps.tolist() == comparison.delays.model.tolist()


def test_the_lanes_that_a_slow_nic_slows_are_its_own():
    comparison = Case(case("slow NIC")).versus_own_steps
    during = comparison.during(BAD.start, BAD.stop)
    best = comparison.which[int(np.argmax(comparison.explained(during)))]
    slowed = comparison.slowed(best, during)
    assert set(slowed.tolist()) == set(best.lanes.tolist())
    assert (comparison.delays.transfers.lanes[slowed] == NIC).any(axis=1).all()


def test_a_pause_is_no_cost_of_a_slow_nic():
    comparison = Case(case("slow NIC")).versus_own_steps
    during = comparison.during(BAD.start, BAD.stop)
    best = comparison.which[int(np.argmax(comparison.explained(during)))]
    more = comparison.delays.more.copy()
    more[BAD.start] *= 9
    paused = replace(comparison, delays=replace(comparison.delays, more=more))
    assert best.cause == "network"
    assert paused.cost(best, during) < 1.3 * comparison.cost(best, during)


def test_the_cost_of_slow_work_is_most_of_the_excess():
    comparison = Case(case("slow rank")).versus_own_steps
    during = comparison.during(BAD.start, BAD.stop)
    best = comparison.which[int(np.argmax(comparison.explained(during)))]
    assert 0.8 <= comparison.cost(best, during) / float(comparison.delays.more[during].sum()) <= 1
