import numpy as np
from hypothesis import given as having
from hypothesis import strategies as st

from prism.loops.detection.matched_volumes import (
    UNKNOWN,
    Moved,
    _reached,
    completes,
    first_of,
    needed,
    pieces_of,
    piped,
    share_of,
    shares_of,
)
from prism.loops.detection.matched_volumes import moved_by as moved_of

NO, YES = np.array([False]), np.array([True])


def moved(group, times, octets=None):
    n = len(times)
    return Moved(np.full(n, group), np.array(times, np.int64), np.array(octets or [10] * n, np.int64))


def moved_by(given, group, time):
    return moved_of(shares_of(given), group, time)


def asks(handed, group):
    return np.full(len(handed.group), group)


def test_what_is_handed_on_is_matched_in_order():
    given, handed = moved(3, [5, 10, 20, 30]), moved(4, [12, 15, 25, 40])
    assert needed(given, handed, asks(handed, 3), turns=np.zeros(4, np.bool_)).tolist() == [5, 10, 20, 30]


def test_a_message_in_pieces_needs_the_same_piece_or_the_whole():
    given, handed = moved(0, [10, 20]), moved(1, [11, 12, 21, 22], [5, 5, 5, 5])
    assert needed(given, handed, asks(handed, 0), turns=np.zeros(4, np.bool_)).tolist() == [10, 10, 20, 20]


def test_the_first_stage_needs_nothing_for_those_it_sends_ahead():
    given, handed = moved(0, [50, 60, 70, 80]), moved(1, [10, 20, 55, 65])
    assert needed(given, handed, asks(handed, 0), turns=np.ones(4, np.bool_)).tolist() == [UNKNOWN, UNKNOWN, 50, 60]


def test_one_sent_late_does_not_shift_the_others():
    """The second was ready early and began after the first gradient had arrived; the next before the second had."""
    given, handed = moved(0, [50, 60, 70, 80]), moved(1, [10, 51, 58, 68])
    assert needed(given, handed, asks(handed, 0), turns=np.ones(4, np.bool_)).tolist() == [UNKNOWN, UNKNOWN, 50, 60]


def test_groups_do_not_mix_and_one_without_input_is_unknown():
    given = Moved(*(np.concatenate(pair) for pair in zip(moved(0, [5, 9]), moved(2, [105, 109]), strict=True)))
    handed = Moved(*(np.concatenate(pair) for pair in zip(moved(2, [106, 110]), moved(0, [6, 10]), moved(4, [1]), strict=True)))
    assert needed(given, handed, handed.group, turns=np.zeros(5, np.bool_)).tolist() == [105, 109, 5, 9, UNKNOWN]


def test_nothing_needs_nothing():
    none = moved(0, [])
    assert len(needed(none, none, none.group, turns=np.zeros(0, np.bool_))) == 0
    assert needed(none, moved(0, [1]), np.zeros(1, np.int64), turns=NO).tolist() == [UNKNOWN]


def test_the_share_moved_by_a_time():
    given = moved(1, [5, 10, 20, 30])
    assert moved_by(given, np.array([1, 1, 1, 0, 1]), np.array([4, 5, 12, 12, 40])).tolist() == [0.0, 0.25, 0.5, 0.0, 1.0]


def test_pieces_are_counted_by_what_cannot_have_been_sent_before_it_came():
    """Four micro-batches in two halves each; the first half of the next arrives early."""
    given = moved(0, [10, 11, 14, 21, 24, 31, 34, 41])
    handed = moved(1, [16, 17, 26, 28, 36, 38, 46, 48])
    assert pieces_of(given, handed, asks(handed, 0)) == 4
    assert needed(given, handed, asks(handed, 0), turns=np.zeros(8, np.bool_), pieces=4).tolist() == [
        11,
        11,
        21,
        21,
        31,
        31,
        41,
        41,
    ]
    assert first_of(handed, 4).tolist() == [True, False] * 4
    assert completes(given, 4).tolist() == [False, True] * 4


def test_one_piece_is_what_is_sent_when_all_has_come():
    given, handed = moved(0, [1, 2, 3, 4]), moved(1, [5, 6, 7, 8])
    assert pieces_of(given, handed, asks(handed, 0)) == 1


def test_no_number_of_pieces_where_more_is_sent_than_has_come():
    given, handed = moved(0, [10, 20, 30]), moved(1, [1, 2, 3])
    assert pieces_of(given, handed, asks(handed, 0)) == 0
    assert first_of(handed, 0).all()
    assert completes(given, 0).all()
    assert pieces_of(given, moved(1, []), np.zeros(0, np.int64)) == 0


some_moved = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 4)), max_size=16)


def naive_shares(moved):
    """Return the cumulative share of each record in its group's octets, and half its own share."""
    total = [max(sum(moved.octets[moved.group == group]), 1) for group in moved.group]
    order = np.lexsort([moved.time, moved.group]).tolist()
    before = [order[: order.index(i) + 1] for i in range(len(order))]
    so_far = [sum(moved.octets[k] for k in own if moved.group[k] == moved.group[i]) for i, own in enumerate(before)]
    return np.array(so_far) / np.array(total), np.array(moved.octets) / np.array(total) / 2


def in_columns(some):
    return Moved(*(np.array([one[k] for one in some], np.int64) for k in range(3)))


@having(some_moved, some_moved)
def test_shares_are_as_in_the_plain_twin(some, others):
    moved, asked = in_columns(some), in_columns(others)
    if not some:
        return
    last, half = naive_shares(moved)
    for found, expected in zip(share_of(moved), (last - half, half), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    groups = [moved.group == group for group in asked.group]
    by = [own & (moved.time <= at) for own, at in zip(groups, asked.time, strict=True)]
    so_far = [sum(moved.octets[own]) / max(sum(moved.octets[every]), 1) for own, every in zip(by, groups, strict=True)]
    np.testing.assert_allclose(moved_by(moved, asked.group, asked.time), so_far)


@having(st.lists(st.tuples(st.booleans(), st.integers(-1, 1), st.integers(-1, 3), st.booleans(), *[st.integers(0, 50)] * 3)))
def test_what_goes_down_and_up_pipelines_is_picked_from_talk(talk):
    dtypes = (np.bool_, np.int8, np.int64, np.bool_, np.int64, np.int64, np.int64)
    came, places, goes = piped(*(np.array([one[k] for one in talk], dtype) for k, dtype in enumerate(dtypes)))
    known = [(i, one) for i, one in enumerate(talk) if one[0] and one[1] and one[2] >= 0]
    given = [(2 * slot + (way > 0), end, octets) for _, (_, way, slot, sends, end, _, octets) in known if not sends]
    handed = [(2 * slot + (way > 0), ready, octets) for _, (_, way, slot, sends, _, ready, octets) in known if sends]
    assert list(zip(*(column.tolist() for column in came), strict=True)) == given
    assert list(zip(*(column.tolist() for column in goes), strict=True)) == handed
    assert places.tolist() == [i for i, one in known if one[3]]


@having(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 4)), min_size=1),
    st.lists(st.tuples(st.integers(0, 4), st.floats(-0.5, 1.5))),
)
def test_a_share_is_reached_with_the_first_record_that_brings_it(some, asked):
    """Search in all groups in sequence."""
    columns = [np.array([one[k] for one in some], np.int64) for k in range(3)]
    records = shares_of(Moved(*columns))
    groups, share = np.array([g for g, _ in asked], np.int64), np.array([s for _, s in asked], np.float64)
    of = columns[0][records.order]
    at = np.minimum(np.searchsorted(2.0 * of + records.moved, 2.0 * groups + share), len(of) - 1)
    told = np.where((share > 0) & (of[at] == groups), records.time[at], UNKNOWN)
    assert _reached(records, share, groups).tolist() == told.tolist()
