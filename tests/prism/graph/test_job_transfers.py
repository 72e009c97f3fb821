"""Test transfers by lane and step, and their positions in a lane's octets."""

from dataclasses import replace

import numpy as np

from collectors.columns.record import Transits
from prism.graph.job_transfers import _steps, _waits, transfers_of
from prism.model import Stream
from tests.prism.faults import RANK, RANKS, TOPOLOGY, case
from tests.prism.traffic import MS, T0, Wire, placed, seen, training


def test_each_lane_moves_all_it_moves_in_a_step_once():
    found = transfers_of(case("nothing"))
    assert len(found.lanes) == RANKS
    cell = found.lane.astype(int) * found.steps + found.step
    assert np.all(np.diff(cell) >= 0)
    for lane in range(RANKS):
        for step in range(found.steps):
            mine = slice(*found.begin[lane * found.steps + step :][:2])
            assert np.all(found.lane[mine] == lane)
            assert np.all(found.step[mine] == step)
            assert np.allclose(found.low[mine][1:], found.high[mine][:-1])
            assert (found.low[mine][0], found.high[mine][-1]) == (0.0, 1.0)


def test_times_are_counted_from_when_the_step_began_for_all():
    view = case("nothing")
    found = transfers_of(view)
    at = found.at((view.begins - view.begins[0]).astype(float))
    assert np.allclose(at[0] + view.begins[0], view.flows.start_ns[found.rows])
    assert np.allclose(at[1] + view.begins[0], view.flows.end_ns[found.rows])


def test_what_a_slow_rank_sends_late_belongs_to_the_step_of_its_volume():
    """In a pipeline the replica with a slow rank ends its steps long after the others."""
    wire = training(dp=4, pp=2, work=lambda step, rank: 35.0 if rank == RANK and step in range(6, 11) else 20.0)
    found = transfers_of(seen(wire.flows(TOPOLOGY), TOPOLOGY))
    moved = found.moved
    assert np.all(moved == moved[:, :1])


def test_lanes_of_barriers_are_left_out():
    wire = Wire()
    for step in range(8):
        for rank in range(4):
            wire.send(rank, (rank + 1) % 4, 10_000_000, T0 + step * 100 * MS)
            wire.send(rank, (rank + 2) % 4, 64, T0 + (step * 100 + 50) * MS)
    found = transfers_of(seen(wire.flows(), placed(4)))
    assert sorted(found.lanes.tolist()) == [[rank, (rank + 1) % 4] for rank in range(4)]


def test_lanes_whose_steps_differ_are_divided_by_time_though_their_sum_is_whole():
    step = np.repeat(np.arange(6), 10).astype(np.int32)
    lane, octets = np.zeros(60, np.int32), np.repeat([970.0, 990.0, 1030.0, 1060.0, 950.0, 1060.0], 10)
    late = np.concatenate([step[1:], [5]]).astype(np.int32)  # the last record of each step counts as one of the next
    assert (_steps(lane, octets, late, 1, 6) == late).all()
    assert (_steps(lane, np.full(60, 1000.0), late, 1, 6) == step).all()


def test_lanes_with_as_many_records_in_every_step_are_divided_by_time():
    step, lane = np.repeat(np.arange(6), 4).astype(np.int32), np.zeros(24, np.int32)
    octets = np.repeat([1000.0, 1160.0, 840.0, 1000.0, 1000.0, 1000.0], 4)  # as experts exchange
    assert (_steps(lane, octets, step, 1, 6) == step).all()


def test_kinds_of_traffic_of_a_pair_are_lanes_of_their_own():
    """Experts exchange other volumes in every step, but as many records: the k-th of each step is the same operation."""
    wire, sizes = Wire(), np.random.default_rng(0).integers(800_000, 1_200_000, (8, 4, 4)).tolist()
    for step in range(8):
        for rank in range(4):
            for turn in range(4):
                wire.send(rank, (rank + 1) % 4, sizes[step][rank][turn], T0 + (step * 100 + 10 * turn) * MS)
            wire.send(rank, (rank + 1) % 4, 10_000_000, T0 + (step * 100 + 50) * MS)
    view = seen(wire.flows(), placed(4))
    small = view.flows.octets < 2_000_000
    streams = tuple(Stream(kind, view.job.endpoints, np.flatnonzero(own)) for kind, own in (("ep", small), ("dp", ~small)))
    found = transfers_of(replace(view, parallelism=replace(view.parallelism, streams=streams)))
    assert sorted(found.kinds.tolist()) == ["dp"] * 4 + ["ep"] * 4
    experts = found.kinds[found.lane] == "ep"
    assert np.allclose(found.high[experts].reshape(-1, 4), [0.25, 0.5, 0.75, 1.0])
    assert np.allclose(found.high[~experts], 1.0)


def test_a_transfer_ends_when_its_last_packet_has_left_the_queue():
    """Packets wait 10 ms on average between leaf0 and spine0 in step 3, so the last one waits 20 ms."""
    view = case("nothing")
    until = view.ends
    bins = np.arange(view.begins[0], until[-1], MS, dtype=np.int64)
    slow = (bins >= view.begins[3]) & (bins < until[3])
    delay = np.where(slow, 10 * MS, 5000)
    given = Transits(
        bins, np.zeros(len(bins), np.int32), np.ones(len(bins), np.int32), np.ones(len(bins), np.int64), delay, 2 * delay,
        ("leaf0", "spine0"), MS,
    )  # fmt: skip
    before, found = transfers_of(view), transfers_of(replace(view, transits=given))
    later = found.end - before.end
    crosses = {i for i, (a, b) in enumerate(found.lanes.tolist()) if view.paths[a, b][:2] == ("leaf0", "spine0")}
    assert crosses
    crossing = np.isin(found.lane, list(crosses))
    assert np.all(later[~(crossing & (found.step == 3))] < MS / 10)
    assert np.median(later[crossing & (found.step == 3)]) == 20 * MS - 10_000


CALL = np.array([0, 0, 0, 1, 1, 2])
BEGINS, ENDS = np.array([0.0, 40.0, 80.0, 100.0, 101.0, 0.0]), np.array([100.0, 101.0, 100.0, 150.0, 190.0, 90.0])


def test_waits_for_other_members_of_a_call_are_no_transfers():
    """The members of call 0 end together when the last one has come; those of call 1 do not end together; 2 is alone."""
    outside = np.zeros(len(CALL), np.bool_)
    assert _waits(CALL, outside, BEGINS, ENDS).tolist() == [80.0, 40.0, 0.0, 0.0, 0.0, 0.0]


def test_a_call_that_waits_for_members_inside_hosts_shows_no_transfers():
    inside = np.ones(len(CALL), np.bool_)
    assert _waits(CALL, inside, BEGINS, ENDS).tolist() == [100.0, 61.0, 20.0, 0.0, 0.0, 0.0]
