"""Test the times at which transfers usually begin and end against plain Python."""

import numpy as np
import pytest

from prism.loops.detection.usual_times import Turns, compare_alike, insert, middle, middle_of_others


def laid(lanes):
    """Convert transfers by lane and turn, each (start, end, octets), to arrays."""
    begin, low, high, start, end = [0], [], [], [], []
    for lane in lanes:
        for turn in lane:
            whole = sum(octets for *_, octets in turn)
            gone = 0
            for a, b, octets in turn:
                low.append(gone / whole)
                gone += octets
                high.append(gone / whole)
                start.append(a)
                end.append(b)
            begin.append(len(start))
    arrays = [np.array(each, float) for each in (low, high, start, end)]
    return np.array(begin), (arrays[0], arrays[1]), (arrays[2], arrays[3])


def usual(begin, turns, model, share, time, idle_for, near):
    """How much later than usual transfers are, and how long their ends usually rest before."""
    one = Turns(begin, turns, model, share, time, near)
    return one.late(), one.rested(idle_for)


def test_the_kth_of_as_many_is_compared_with_the_kth_whatever_it_moves():
    begin, share, time = laid([[[(0, 1, 5), (4, 5, 5)], [(0, 1, 2), (4, 5, 8)], [(2, 3, 9), (7, 9, 1)]]])
    late, _ = usual(begin, 3, np.array([0, 1]), share, time, np.zeros((2, len(time[0]))), 0.1)
    assert late[0, 4:].tolist() == pytest.approx([2.0, 3.1])
    assert late[1, 4:].tolist() == pytest.approx([2.0, 3.9])


def test_where_records_are_cut_differently_the_same_place_is_compared():
    begin, share, time = laid([[[(0, 10, 10)], [(1, 6, 5), (6, 11, 5)]]])
    late, _ = usual(begin, 2, np.array([0]), share, time, np.zeros((2, len(time[0]))), 0.1)
    assert late[:, 1:].ravel().tolist() == pytest.approx([1.0] * 4)


def test_bursts_that_are_as_many_by_chance_are_compared_by_place():
    """The third turn has as many bursts as the first, cut elsewhere; the second has more."""
    turns = [[(0, 2, 20), (2, 10, 80)], [(0, 1, 10), (1, 5, 40), (5, 10, 50)], [(0, 9, 90), (9, 10, 10)]]
    begin, share, time = laid([turns])
    late, _ = usual(begin, 3, np.array([0, 1]), share, time, np.zeros((2, len(time[0]))), 0.1)
    assert np.abs(late[:, 5:]).max() < 0.5


def test_nobody_rests_where_a_transfer_is_usually_underway():
    """The last burst begins where the only one of other turns had moved half of its octets."""
    begin, share, time = laid([[[(8, 10, 10)], [(8, 10, 10)], [(8, 9, 5), (12, 13, 5)]]])
    idle_for = np.array([[8.0, 8.0, 8.0, 3.0]] * 2)
    _, rested = usual(begin, 3, np.array([0, 1]), share, time, idle_for, 0.1)
    assert rested[:, 2:].tolist() == [[8.0, 0.0]] * 2


def test_a_barrier_that_only_one_turn_has_is_compared_with_nothing():
    """It begins long after the last transfer of the other turn, but moves nothing that this moved."""
    begin, share, time = laid([[[(0, 10, 100), (10, 20, 100)], [(0, 10, 100), (10, 20, 100), (90, 91, 1)]]])
    late, _ = usual(begin, 2, np.array([0]), share, time, np.zeros((2, len(time[0]))), 0.1)
    assert np.isnan(late[:, 4]).all()
    assert np.abs(late[:, 2:4]).max() < 0.5


def test_a_turn_is_not_compared_with_itself():
    begin, share, time = laid([[[(0, 1, 1)], [(3, 4, 1)]]])
    late, known = usual(begin, 2, np.array([0]), share, time, np.array([[5.0, 7.0], [6.0, 8.0]]), 0.1)
    assert np.isnan(late[:, 0]).all()
    assert known.tolist() == [[0.0, 5.0], [0.0, 6.0]]


@pytest.mark.parametrize("empty", [False, True])
def test_turns_with_as_many_transfers_are_compared_with_the_median_of_the_others(empty):
    rng = np.random.default_rng(3)
    turns = [[(a := float(rng.integers(20)), a + 1, 1) for _ in range(3)] for _ in range(6)]
    begin, share, time = laid([[*turns[:5], [] if empty else turns[5]]])
    model, idle_for = np.array([0, 2, 3, 5]), rng.random((2, begin[-1]))
    late, rested = usual(begin, 6, model, share, time, idle_for, 0.1)
    for turn in range(5 + (not empty)):
        others = [other for other in model[: 4 - empty] if other != turn]
        at = begin[turn] + np.arange(3)
        start, idle_then = (
            np.array([each[begin[other] + np.arange(3)] for other in others]) for each in (time[0], idle_for[0])
        )
        assert late[0, at] == pytest.approx(time[0][at] - np.median(start, axis=0))
        assert rested[0, at] == pytest.approx(np.median(idle_then, axis=0))


def test_turns_of_other_numbers_are_not_compared_one_by_one():
    begin, _, time = laid([[[(0, 1, 5)], [(0, 1, 2), (4, 5, 8)]]])
    out = np.full((2, 3), np.nan)
    memory = np.zeros((4, 2)), np.zeros((4, 2), np.int64)
    assert compare_alike(begin, np.array([0, 1]), time, np.zeros((2, 3)), (0.1, 0.9), *memory, out, out.copy()) == 0
    assert np.isnan(out).all()


def test_values_are_inserted_in_order_with_their_numbers():
    values, of = np.array([1.0, 2.0, 4.0, 0.0]), np.array([7, 5, 6, 0])
    insert(values, of, 3, 1.5, 9)
    assert (values.tolist(), of.tolist()) == ([1.0, 1.5, 2.0, 4.0], [7, 9, 5, 6])


def test_the_median_without_one():
    values, of = np.array([1.0, 2.0, 4.0, 0.0]), np.array([7, 5, 6, 6])
    assert middle_of_others(values, of, 3, 5) == (2, 2.5)
    assert middle_of_others(values, of, 3, 8) == (3, 2.0)
    assert middle_of_others(values, of, 1, 7) == (0, 0.0)


@pytest.mark.parametrize("values", [[3.0], [2.0, 1.0], [5.0, 1.0, 4.0], [2.0, 2.0, 1.0, np.inf]])
def test_the_median_of_the_first_values(values):
    assert middle(np.array([*values, 0.0]), len(values)) == np.median(values)
