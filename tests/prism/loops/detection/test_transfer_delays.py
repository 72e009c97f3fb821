"""Test the compiled loops of the event graph against plain Python."""

import numpy as np
import pytest

from prism.loops.detection.transfer_delays import idle, inherited_delays, note

NONE = np.zeros((2, 0), np.bool_), np.zeros((2, 0))


def chain(late, *, circle=-1, soon=0.0):
    """Build transfers 0 → 1, 1 → 2, 2 → 3 in sequence, with their delays."""
    n = len(late[0])
    start, end = np.arange(n) * 10.0, np.arange(n) * 10.0 + 5
    order = np.lexsort((np.repeat([1, 0], n), np.concatenate([start, end])))
    lane = np.arange(n, dtype=np.int32)
    ends = lane, lane + 1
    mates = np.arange(n + 1, dtype=np.int32), np.arange(n + 2)
    turn, more = np.zeros(n, np.int32), np.zeros(1)
    circles = np.full(n, circle, np.int32)
    return (order, np.stack([start, end]), ends, lane, turn, np.array(late, float), more, mates, circles, (soon, 0.02))


def test_only_what_none_before_was_late_by_is_new():
    new = inherited_delays(*chain([[0, 4, 4], [0, 4, 6]]), *NONE, 9)
    assert new.tolist() == [[0, 4, 0], [0, 0, 2]]


def test_without_a_new_delay_all_that_follows_is_sooner():
    given = chain([[0, 4, 4], [0, 4, 6]])
    new = inherited_delays(*given, *NONE, 9)
    gone = np.zeros((2, 3), np.bool_)
    assert inherited_delays(*given, gone, new, 9).tolist() == [[0, 4, 4], [0, 4, 6]]
    gone[0, 1] = True
    assert inherited_delays(*given, gone, new, 9).tolist() == [[0, 0, 0], [0, 0, 2]]


def test_what_another_of_the_collective_was_late_by_is_not_new():
    late = [[3, 0, 3], [3, 0, 3]]
    assert inherited_delays(*chain(late), *NONE, 9)[0].tolist() == [3, -3, 3]
    assert inherited_delays(*chain(late, circle=0), *NONE, 9)[0].tolist() == [3, -3, 0]


def test_a_collective_that_has_caught_up_passes_nothing_on():
    order, at, _, _, *rest = chain([[3, 0, 3], [3, 0, 3]], circle=0)
    ends, lane = (np.array([0, 0, 2], np.int32), np.array([1, 1, 3], np.int32)), np.array([0, 0, 1], np.int32)
    rest[3] = np.arange(4, dtype=np.int32), np.arange(5)
    assert inherited_delays(order, at, ends, lane, *rest, *NONE, 9)[0].tolist() == [3, -3, 3]


@pytest.mark.parametrize(("circle", "new"), [(-1, 0.0), (0, 4.0)])
def test_a_stage_works_on_one_hand_over_while_another_comes(circle, new):
    """0 → 1 comes late, 2 → 1 in time and after it, then 1 → 2 begins as late as the first."""
    order, at, _, lane, turn, _, *rest = chain([[4, 0, 4], [4, 0, 4]], circle=circle)
    ends = np.array([0, 2, 1], np.int32), np.array([1, 1, 2], np.int32)
    rest[2] = np.array([circle, -1, -1], np.int32)
    late = np.array([[4.0, 0, 4], [4, 0, 4]])
    assert inherited_delays(order, at, ends, lane, turn, late, *rest, *NONE, 9)[0].tolist() == [4.0, -4.0, new]


@pytest.mark.parametrize(("circle", "new"), [(-1, 4.0), (0, 0.0)])
def test_who_moves_something_late_of_the_same_collective_passes_that_on(circle, new):
    """0 → 1 is underway when 1 ← 2 begins; it waits for the former only within one collective."""
    start, end = np.array([4.0, 6.0]), np.array([20.0, 21.0])
    order = np.lexsort((np.repeat([1, 0], 2), np.concatenate([start, end])))
    ends = np.array([0, 2], np.int32), np.array([1, 1], np.int32)
    mates, lane = (np.arange(3, dtype=np.int32), np.arange(4)), np.arange(2, dtype=np.int32)
    late, circles = np.full((2, 2), 4.0), np.full(2, circle, np.int32)
    given = (order, np.stack([start, end]), ends, lane, np.zeros(2, np.int32), late, np.zeros(1), mates, circles, (1.0, 0.02))
    assert inherited_delays(*given, *NONE, 9)[0].tolist() == [4.0, new]


@pytest.mark.parametrize(("mates", "new"), [([0, 1, 2, 3], 4.0), ([0, 1, 1, 2, 3], 0.0)])
def test_a_mate_forwards_what_its_host_receives_of_the_same_collective(mates, new):
    """0 → 1 is underway when 2 → 3 begins; rank 1 is a mate of rank 2, if at all."""
    start, end = np.array([4.0, 6.0]), np.array([20.0, 21.0])
    order = np.lexsort((np.repeat([1, 0], 2), np.concatenate([start, end])))
    ends = np.array([0, 2], np.int32), np.array([1, 3], np.int32)
    known = np.array(mates, np.int32), np.array([0, 1, 2, len(mates) - 1, len(mates)])
    lane, late = np.arange(2, dtype=np.int32), np.full((2, 2), 4.0)
    rest = np.zeros(2, np.int32), late, np.zeros(1), known, np.zeros(2, np.int32), (1.0, 0.02)
    assert inherited_delays(order, np.stack([start, end]), ends, lane, *rest, *NONE, 9)[0].tolist() == [4.0, new]


def test_of_what_is_under_way_the_first_and_the_last_to_end_are_known():
    underway, at = np.full((2, 1), -1), np.array([[0.0, 1.0, 2.0], [9.0, 5.0, 7.0]])
    for k in range(3):
        note(k, 0, underway, at, True)
    assert underway[:, 0].tolist() == [0, 2]
    note(0, 0, underway, at, False)
    assert underway[:, 0].tolist() == [2, -1]
    note(2, 0, underway, at, False)
    assert underway[:, 0].tolist() == [-1, -1]


def test_a_gain_is_never_gone():
    given = chain([[0, -4, -4], [0, -4, -4]])
    new = inherited_delays(*given, *NONE, 9)
    gone = np.ones((2, 3), np.bool_)
    assert inherited_delays(*given, gone, new, 9).tolist() == [[0, -4, -4], [0, -4, -4]]


def test_who_had_slack_is_in_time_without_the_delay_not_early():
    """The second transfer absorbs 2 of the 6 by which the first is late."""
    given = chain([[6, 4, 4], [6, 4, 4]])
    new = inherited_delays(*given, *NONE, 9)
    assert new[0].tolist() == [6, -2, 0]
    assert inherited_delays(*given, np.ones((2, 3), np.bool_), new, 9).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_how_long_both_ends_had_ended_nothing():
    order, at, ends, *_ = chain([[0, 0, 0], [0, 0, 0]])
    assert idle(order, at, ends, 4).tolist() == [[np.inf, 5.0, 5.0], [np.inf, np.inf, np.inf]]
