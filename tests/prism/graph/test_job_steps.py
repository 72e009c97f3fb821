from dataclasses import replace

import numpy as np
import pytest

from prism.loops.arrays.edges import Edge
from tests.prism.faults import BAD, RANKS, TOPOLOGY, case
from tests.prism.traffic import MS, T0, Wire, seen, shifted, training


def test_steps_follow_one_another():
    view = case("nothing")
    assert len(view.ends) == 14
    assert (view.begins[1:] == view.ends[:-1]).all()
    assert view.begins[0] == pytest.approx(T0, abs=MS)
    assert view.durations[0] == pytest.approx(view.period, rel=0.02)
    assert (view.durations[1:] == np.diff(view.ends)).all()
    assert view.period == pytest.approx(np.median(view.durations))
    assert view.during(2, 5) == (view.ends[1], view.ends[4])


def test_the_begin_of_a_first_step_that_lacks_octets_is_unknown():
    view = case("nothing")
    flows = view.flows.take(view.flows.start_ns > view.ends[0] - 0.1 * view.period)
    cut = replace(view, flows=flows, around=flows)
    assert np.isnan(cut.durations[0])
    assert cut.begins[0] == min(steps[0, 0] for steps in cut.timeline.steps)


def test_the_times_of_steps_are_exact_to_the_nanosecond():
    flows = training(dp=4).flows()
    assert (seen(shifted(flows, -T0)).ends + T0 == seen(flows).ends).all()


def test_a_time_lies_in_the_step_that_ends_with_it():
    view = case("nothing")
    assert view.step_of(view.ends).tolist() == list(range(14))
    assert view.step_of(view.ends + 1).tolist() == list(range(1, 15))


def test_columns_by_step_sum_up_to_the_edge():
    view = case("nothing")
    for edge, sums in zip(view.edges.values(), view.volumes, strict=True):
        assert sums == pytest.approx(np.full(14, edge.volume / 14), rel=1e-6)


def test_a_record_is_of_the_step_of_its_sender():
    """Some ranks end their steps sooner than most of the job, others later."""
    view = case("nothing")
    apart = [np.int64(40 * MS), -np.int64(40 * MS), *[np.int64(0)] * (len(view.job.endpoints) - 2)]
    steps = tuple(own + later for own, later in zip(view.timeline.steps, apart, strict=True))
    moved = replace(view, timeline=replace(view.timeline, steps=steps))
    for rank, own in enumerate(steps[:2]):
        sent = view.flows.src == view.code[view.job.endpoints[rank]]
        assert (moved._step[sent] == np.searchsorted(own[:, 1], view.flows.end_ns[sent])).all()
    assert (moved._step != view._step).any()
    shorter = replace(view.timeline, steps=(steps[0][1:], *steps[1:]))
    unseen = replace(view, timeline=shorter)  # as most ranks' steps are
    sent = view.flows.src == view.code[view.job.endpoints[0]]
    assert (unseen._step[sent] == unseen.step_of(view.flows.end_ns[sent])).all()


def test_only_pairs_that_come_back_are_edges():
    wire = training(dp=4)
    for k in range(5):
        wire.send(0, 2, 1_000_000, T0 + 10 * k * MS)
    assert set(seen(wire.flows()).edges) == {(a, (a + 1) % 4) for a in range(4)}


def test_slowdown_is_against_the_other_steps():
    view = case("slower all")
    assert view.slowdown(BAD.start, BAD.stop) == pytest.approx(1.37, abs=0.05)
    assert view.slowdown(0, 14) == view.slowdown(0, 3) == 1.0


def test_a_path_is_the_one_most_octets_took_else_the_topology_s():
    view = case("nothing")
    assert view.paths[0, 1] == ("leaf0",)
    assert view.paths[3, 4] == ("leaf0", "spine0", "leaf1")
    flows = training(dp=RANKS).flows()
    view = seen(flows, TOPOLOGY)
    assert view.paths[3, 4] == ("leaf0", "leaf1")
    assert seen(flows).paths[3, 4] == ()
    assert isinstance(view.edges[3, 4], Edge)


def test_no_steps_no_numbers():
    wire = Wire()
    for src in range(4):
        for k in range(6):
            wire.send(src, (src + 1) % 4, int(np.exp(10 + (7 * k + src) % 5)), T0 + k * k * 100 * MS)
    view = seen(wire.flows())
    if not len(view.ends):
        assert (len(view.begins), len(view.durations), view.period, view.edges) == (0, 0, 0.0, {})
