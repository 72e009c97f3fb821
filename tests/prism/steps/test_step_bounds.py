from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import SMALL, TCP
from prism.steps.record_sequences import sequences_of
from prism.steps.step_bounds import _final_signals, _shorter, rank_steps, steps_of
from tests.prism.evidence.made import ORIGIN, Wire
from tests.prism.steps.made import MS, buckets, sequences


@pytest.mark.parametrize("made", [{}, {"jitter": 0.3}, {"hang": (4,)}, {"steps": 40, "jitter": 0.1}])
def test_every_rank_ends_its_steps_with_its_last_message(made):
    wire, ends = buckets(**made)
    found = sequences(wire)
    steps = rank_steps(found, steps_of(found), 4)
    for own in steps:
        assert len(own) == len(ends)
        assert np.abs(own[:, 1] - ends).max() <= 5 * MS
        assert np.all(own[1:, 0] == own[:-1, 1])


def test_a_bound_within_a_phase_of_the_end_of_a_recording_is_the_end():
    wire, ends = buckets(steps=12)
    wire.send(0, 1, (ends[-1] - ORIGIN) / MS + 20, 1000)  # later than the last step, but less than a phase of its octets
    found = steps_of(sequences(wire))
    assert len(found.times) == len(ends) + 1
    assert found.complete.all()


def test_results_do_not_depend_on_time_or_on_the_order_of_rows():
    wire, _ = buckets(jitter=0.2)
    found = sequences(wire)
    before = rank_steps(found, steps_of(found), 4)
    wire.rows = [(start + 7 * MS, end + 7 * MS, *rest) for start, end, *rest in reversed(wire.rows)]
    later = sequences(wire)
    for own, moved in zip(before, rank_steps(later, steps_of(later), 4), strict=True):
        assert np.array_equal(own + 7 * MS, moved)


def test_equal_buckets_are_no_steps():
    wire, ends = buckets(signal=False)
    found = sequences(wire)
    assert all(len(own) == len(ends) for own in rank_steps(found, steps_of(found), 4))


def test_equal_buckets_of_steps_that_a_fault_stretches_are_no_steps():
    wire, at = Wire([f"a{i}" for i in range(4)]), 0.0
    for step in range(9):
        every = 16.0 if step < 5 else 27.0  # a slow rank
        for bucket in range(6):
            wire.ring([0, 1, 2, 3], at + bucket * every, 2_000_000, long=2.0)
        at += 6 * every + 60
    found = sequences(wire)
    assert all(len(own) == 9 for own in rank_steps(found, steps_of(found), 4))


@pytest.mark.parametrize("low", [5.55, 5.65, 5.8])
@pytest.mark.parametrize("high", [25.45, 25.6, 25.7])
def test_a_step_overlaps_a_time_of_which_records_are_missing(low, high):
    wire, _ = buckets(steps=40)
    low, high = ORIGIN + low * 100 * MS, ORIGIN + high * 100 * MS
    wire.rows = [row for row in wire.rows if row[1] <= low or row[0] > high]
    found = sequences(wire)
    for own in rank_steps(found, steps_of(found), 4):
        assert np.any((own[:, 0] < high) & (own[:, 1] > low))


@pytest.mark.parametrize("low", [5.55, 5.65, 5.8])
def test_a_job_that_crashed_has_whole_steps_after_the_silence(low):
    wire, _ = buckets(steps=40)
    low, high = ORIGIN + low * 100 * MS, ORIGIN + 2500 * MS
    wire.rows = [row for row in wire.rows if row[1] <= low or row[0] > high]
    found = sequences(wire)
    for own in rank_steps(found, steps_of(found), 4):
        assert np.sum(own[:, 1] > high) == 15


@pytest.mark.parametrize("every", [138, 5])
def test_what_a_library_sends_every_second_is_no_end_of_a_step(every):
    """Ranks also tell rank 0 that they live, every 138 or 5 ms, wherever the step of 100 ms is."""
    wire, ends = buckets(steps=12, signal=False)
    for k in range(1150 // every):
        for rank in range(1, 4):
            wire.send(rank, 0, 3 + every * k, 120, port=2000)
    flows = wire.flows()
    found = sequences_of(replace(flows, protocol=np.full(len(flows), TCP, np.uint8)), np.arange(len(flows)))
    steps = rank_steps(found, steps_of(found), 4)
    assert all(len(own) == len(ends) and np.abs(own[:-1, 1] - ends[:-1]).max() <= 5 * MS for own in steps)


@pytest.mark.parametrize("overlaps", [False, True])
def test_a_step_ends_with_its_scalars_though_their_first_round_overlaps_the_payload_of_others(overlaps):
    wire, at = Wire([f"a{i}" for i in range(4)]), 0.0
    for _ in range(10):
        for pair in ((0, 1), (1, 0)):
            wire.send(*pair, at + 40, 4_000_000, long=20.0)
        for pair in ((2, 3), (3, 2)):
            wire.send(*pair, at + 20, 4_000_000, long=20.0)
        for turn in range(2):
            for a in range(4):
                wire.send(a, (a + 1) % 4, at + (59.9 if overlaps else 61) + turn, 68, long=0.01)
        at += 100
    found = sequences(wire)
    for own in rank_steps(found, steps_of(found), 4)[2:]:
        assert np.all(np.abs(own[1:-1, 1] / MS % 100 - own[1, 1] / MS % 100) < 1)
        assert own[1, 1] - wire.rows[0][0] > 120 * MS


def test_scalars_of_ranks_that_exchange_nothing_else_end_a_step_of_a_cut_recording_though_the_next_payload_is_near():
    """Payload until 79 ms, scalars at 130 ms, payload from 140 ms on."""
    wire, _ = buckets(steps=16, signal=False)
    for step in range(16):
        for rank in range(4):
            wire.send(rank, (rank + 2) % 4, 100 * step + 130, 68)
    begin = wire.rows[0][0]
    wire.rows = [row for row in wire.rows if row[0] >= begin + 10 * MS]
    found = sequences(wire)
    for own in rank_steps(found, steps_of(found), 4):
        assert np.all(np.abs((own[1:-1, 1] - ORIGIN) / MS % 100 - 30.5) < 1)


def test_credits_end_no_step_though_the_first_precedes_the_recording():
    """Payload from 60 to 80 ms, scalars at 83 ms; a receiver asks for each three messages, for the first of a step at 58 ms."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(12):
        for turn in range(6):
            for rank in range(4):
                at = 100 * step + 60 + 3.3 * turn
                if step or turn:
                    wire.send((rank + 1) % 4, rank, at - (0.2 if turn else 2), 68, long=0.01)
                for part, octets in enumerate((4_000_000, 4_000_000, 1_000_000)):
                    wire.send(rank, (rank + 1) % 4, at + part, octets, long=0.9)
        for rank in range(4):
            wire.send(rank, (rank + 2) % 4, 100 * step + 83, 128, long=0.01)
    found = sequences(wire)
    idle = np.array([[80.0, 160.0]]) + 100 * np.arange(11)[:, None] - 60
    final = _final_signals(found, MS * idle, cut=False)
    assert np.array_equal(final[found.signals], found.count[found.signals] == 12)


@pytest.mark.parametrize("octets", [128, 4096])
def test_ranks_of_a_host_end_a_step_with_the_scalars_that_one_of_them_carries(octets):
    wire, ends = buckets(signal=False)
    for step in range(10):
        wire.ring([0, 2], 100 * step + 85, octets, rounds=1)
    found = sequences(wire)
    steps = steps_of(found)
    alone, met = rank_steps(found, steps, 4), rank_steps(found, steps, 4, [np.array([0, 1]), np.array([2, 3])])
    assert np.array_equal(met[0], alone[0])
    assert len(met[1]) == len(ends)
    if octets > SMALL:  # no scalar: not all ranks take part
        assert np.array_equal(met[1], alone[1])
    else:
        assert np.all(met[1][:, 1] > alone[1][:, 1])
        assert np.array_equal(met[1][:, 1], met[0][:, 1])


def test_counts_that_move_bounds_out_of_far_longer_idle_times_are_not_used():
    """A recording begins with the first copy of a model, which counts divide too: then bounds come too early."""
    wire, ends = Wire([f"a{i}" for i in range(4)]), []
    wire.ring([0, 1, 2, 3], -60, 500_000, rounds=12, long=1)
    for step in range(12):
        wire.ring([0, 1, 2, 3], 100 * step, 500_000, rounds=40, long=1)
        ends.append(wire.rows[-1][1])
    found = sequences(wire)
    steps = steps_of(found)
    assert steps.counted is None
    for own in rank_steps(found, steps, 4):
        assert np.abs(own[-12:, 1] - np.array(ends)).max() <= MS


@pytest.mark.parametrize(
    ("moved", "rests", "shorter"),
    [(3, 1.0, True), (2, 1.0, False), (3, 6.0, False), (9, 0.0, True), (9, 1.0, False)],
)
def test_counts_that_move_most_bounds_to_where_it_rests_as_well_are_used(moved, rests, shorter):
    """Idle times of 10 in steps of 100; counts move the first bounds by 40, to where the traffic rests for `rests`."""
    ends = 100.0 * np.arange(1, 10)
    timed = np.stack([ends - 10, ends], axis=1)
    counted = timed.copy()
    counted[:moved] = np.stack([ends - 50, ends - 50 + rests], axis=1)[:moved]
    assert _shorter(counted, timed, signalled=False) is shorter
    assert _shorter(counted, timed, signalled=True) is (shorter or moved == 9), "then all may be moved"


def test_a_restarted_job_reduces_its_scalars_over_new_connections():
    """Ranks 2 and 3 have reduced long before the others; all end their steps with the scalars, also before the restart."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(30):
        at = 100.0 * step + (300 if step >= 9 else 0)
        for a, b, late in ((0, 1, 40), (1, 0, 40), (2, 3, 20), (3, 2, 20)):
            wire.send(a, b, at + late, 4_000_000, long=20.0)
        for turn in range(2):
            for a in range(4):
                wire.send(a, (a + 1) % 4, at + 61 + turn, 68, long=0.01, port=2000 + (step >= 9))
    flows = wire.flows()
    found = sequences_of(replace(flows, protocol=np.full(len(flows), TCP, np.uint8)), np.arange(len(flows)))
    for own in rank_steps(found, steps_of(found), 4):
        ends = (own[:, 1] - ORIGIN) / MS
        assert all(np.abs(ends - (100.0 * step + 62)).min() < 2 for step in range(8))
