"""Compared values: a job against its own quick steps and against peers."""

from dataclasses import replace

import numpy as np

from prism.diagnosis.comparisons import Case
from tests.prism.faults import BAD, NIC, RANK, case
from tests.prism.traffic import address


def test_too_few_steps_make_no_scene():
    view = case("nothing")
    few = Case(replace(view, timeline=replace(view.timeline, steps=tuple(own[:2] for own in view.timeline.steps))))
    assert few.transfers is None
    assert few.lately is None
    assert few.always == []


def test_what_steps_would_save_counts_beside_what_a_candidate_touches():
    scene = Case(case("slow rank")).lately
    during = scene.during(BAD.start, BAD.stop)
    explained = scene.explained(during)
    assert scene.which[int(np.argmax(explained))].ids == (address(RANK),)
    assert np.all(explained >= np.median(scene.share[:, during], axis=1) - 1e-9)
    assert not scene.explained(scene.during(3, 3)).any()


def test_peers_are_looked_at_in_steps_that_say_what_is_usual():
    (anywhere, *beside) = Case(case("rank always slow")).always
    assert anywhere.always
    assert not anywhere.beside
    assert all(scene.beside for scene in beside)
    steps = np.flatnonzero(anywhere.during(0, anywhere.delays.transfers.steps))
    assert steps.tolist() == anywhere.delays.model.tolist()


def test_the_lanes_that_a_slow_nic_slows_are_its_own():
    scene = Case(case("slow NIC")).lately
    during = scene.during(BAD.start, BAD.stop)
    best = scene.which[int(np.argmax(scene.explained(during)))]
    slowed = scene.slowed(best, during)
    assert set(slowed.tolist()) == set(best.lanes.tolist())
    assert (scene.delays.transfers.lanes[slowed] == NIC).any(axis=1).all()
