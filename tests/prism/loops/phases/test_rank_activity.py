import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.interval_lines import NOTHING, line
from prism.loops.arrays.intervals import active, weighted_median
from prism.loops.phases.rank_activity import coloured, in_time, paces, told, unit_of, ways

ON = line([np.array(own, np.int64) for own in ([[5, 20], [20, 31]], [[8, 30], [30, 40]])], (0, 120))
RANK = st.integers(-1, 2)
RECORD = st.tuples(RANK, RANK, st.integers(0, 60), st.integers(0, 60), *[st.integers(-1, 60)] * 2)


def ints(*values):
    return np.array(values, np.int64)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3))), st.booleans(), st.booleans())
def test_rows_of_streams_in_order_of_time(some, early, twice):
    start = np.array([time for time, _ in some], np.int64)
    start = np.sort(start) if early else start
    rows = [np.flatnonzero([of == s for _, of in some]) for s in range(3)]
    rows = [*rows, rows[0][::-1]] if twice else rows
    every, of = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    order = np.argsort(start[every], kind="stable")
    found, streams = in_time(start, rows)
    assert found.tolist() == every[order].tolist()
    assert streams.tolist() == of[order].tolist()


def test_nothing_is_in_time_of_no_streams():
    assert [len(column) for column in in_time(ints(1, 2), [])] == [0, 0]


def test_records_go_down_or_up_or_around_a_pipeline():
    src, dst = np.array([0, 1, 2, 0, 0, 3], np.int32), np.array([1, 0, 0, 2, 1, 0], np.int32)
    piped = np.array([1, 1, 1, 1, 0, 1], np.bool_)
    assert ways(src, dst, piped, ints(0, 1, 2, -1)).tolist() == [1, -1, 1, -1, 0, 0]
    assert ways(src[:2], dst[:2], piped[:2], ints(0, 1)).tolist() == [1, -1]


@given(st.lists(RECORD, max_size=12), st.booleans())
def test_both_ends_of_records_lie_on_the_line(some, worded):
    some = sorted(some, key=lambda one: one[2])
    src, dst, start, long, ready, called = (np.array([one[i] for one in some], np.int64) for i in range(6))
    said = (np.arange(len(some)).astype(np.int8), -src.astype(np.int8), 100 + start)
    words = (ready, called) if worded else (ints(), ints())
    ends = src.astype(np.int32), dst.astype(np.int32)
    begins, closes, slot, *about, sends, offered, asked = told(ends, (start, start + long), said, words, ON)
    order = np.lexsort((np.tile(start, 2), np.concatenate([src, dst])))
    rows = order % max(len(some), 1)
    assert [column.tolist() for column in about] == [column[rows].tolist() for column in said]
    assert (sends == (order < len(some))).all()
    who = np.where(sends, src[rows], dst[rows])
    assert begins.tolist() == ON.place(who, start[rows]).tolist()
    assert closes.tolist() == ON.place(who, (start + long)[rows]).tolist()
    assert slot.tolist() == ON.slot(closes).tolist()
    if worded and some:
        assert offered.tolist() == np.where(sends & (ready[rows] >= 0), ON.place(who, ready[rows]), begins).tolist()
        assert asked.tolist() == np.where(sends & (called[rows] >= 0), ON.place(who, called[rows]), NOTHING).tolist()
    else:
        assert offered is begins or offered.tolist() == begins.tolist()
        assert not len(asked)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 200), st.integers(0, 40), st.integers(0, 3))))
def test_talk_of_a_kind_goes_on(some):
    kind, start, long, octets = (np.array([one[i] for one in sorted(some, key=lambda one: one[1])], np.int64) for i in range(4))
    kind, names = kind.astype(np.int8), ints(2, 0, 3)
    usual = paces(names, kind, start, start + long, octets)
    first, last, low, high = coloured(names, kind, start, start + long, usual / 4)
    for c, name in enumerate(names):
        own = kind == name
        assert usual[c] == weighted_median(long[own], octets[own])
        begin, end = active(start[own], (start + long)[own], octets[own])
        assert first[low[c] : high[c]].tolist() == begin.tolist()
        assert last[low[c] : high[c]].tolist() == end.tolist()


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 5)), min_size=1))
def test_a_tenth_of_octets_are_in_small_messages(some):
    octets, messages = (np.array([one[i] for one in some], np.int64) for i in range(2))
    size = octets // np.maximum(messages, 1)
    assert unit_of(octets, messages) == next(one for one in sorted(size) if octets[size <= one].sum() >= octets.sum() / 10)
