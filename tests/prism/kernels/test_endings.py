"""Step ends of one rank, against the same in whole arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.kernels.endings import aligned, parted, step_ends, steps_of, streams_of
from prism.kernels.sums import on_end

records = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9), st.integers(1, 5)), min_size=1, max_size=40)
gaps = st.lists(st.tuples(st.integers(1, 12), st.integers(0, 6)), min_size=1, max_size=8)
times = st.lists(st.integers(0, 80), max_size=12)


def slowly_parted(start, done, octets, quiet):
    until = np.maximum(quiet[:, 1], quiet[:, 0] + 1)
    last, first = np.searchsorted(start, until, "left"), np.searchsorted(start, quiet[:, 0], "right")
    moved = np.concatenate([[0], np.cumsum(octets)])
    usual = float(np.median(np.diff(moved[last], prepend=0)))
    for step in np.flatnonzero(first < last).tolist():
        inside = np.arange(max(first[step], 1), last[step])
        apart = inside[start[inside] - done[inside - 1] > until[step] - start[inside]]
        choices = np.append(apart, last[step])
        before = moved[last[step - 1]] if step else 0
        last[step] = choices[np.argmin(np.abs(moved[choices] - before - usual))]
    return last


@given(records, gaps, times, times)
def test_step_ends_are_those_of_whole_arrays(some, quiet, begun, heard):
    start, length, octets = (np.array(column, np.int64) for column in zip(*sorted(some), strict=True))
    begin = np.cumsum([step for step, _ in quiet])
    quiet = np.stack([begin, begin + [wide for _, wide in quiet]], axis=1).astype(np.int64)
    begun, heard = (np.sort(np.array(column, np.int64)) for column in ([*begun, 0], heard))
    done = np.maximum.accumulate(start + length)
    last = slowly_parted(start, done, octets, quiet)
    assert parted(start, done, octets, quiet).tolist() == last.tolist()
    ends = np.where(last > 0, done[np.maximum(last - 1, 0)], quiet[:, 0])
    at = np.searchsorted(begun, ends, "right")
    resume = np.where(at < len(begun), begun[np.minimum(at, len(begun) - 1)], quiet[:, 1])
    late = np.concatenate([[0], heard])[np.searchsorted(heard, resume, "left")]
    told = np.maximum(late, ends)
    if 2 * np.sum(late > ends) > len(ends):
        for step in np.flatnonzero(late <= ends).tolist():
            word = heard[(heard > ends[step]) & (heard < quiet[step, 1])]
            resume = min(begun[begun > word[0]], default=quiet[step, 1]) if len(word) else 0
            told[step] = max(heard[heard < resume], default=told[step])
    told = np.maximum.accumulate(told)
    assert step_ends(start, start + length, octets, quiet, begun, heard).tolist() == told.tolist()


def test_what_is_left_of_a_step_does_not_hide_the_word_that_ends_it():
    """A rank that has reduced hands up gradients still in one step, to a stage that was late; then all say that it is over."""
    start = np.arange(0, 50, 10)
    quiet = np.stack([start + 2, start + 10], axis=1)
    heard, begun = start + 5, np.sort(np.append(start, 23))
    ends = step_ends(start, start + 2, np.ones(5, np.int64), quiet, begun, heard)
    assert ends.tolist() == heard.tolist()
    assert step_ends(start, start + 2, np.ones(5, np.int64), quiet, begun, heard[2:3]).tolist()[2] == 22  # asked for seldom


ends = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.integers(-1, 2)), min_size=40, max_size=40)


@given(records, st.lists(gaps, min_size=2, max_size=2), st.lists(times, min_size=4, max_size=4), ends)
def test_steps_are_those_of_the_streams_that_end_them(some, quiet, heard, ends):
    start, length, octets = (np.array(column, np.int64) for column in zip(*sorted(some), strict=True))
    src, dst, of = (np.array(column, np.int64)[: len(start)] for column in zip(*ends, strict=True))
    begins = [np.cumsum([step for step, _ in one]) for one in quiet]
    rests = [np.stack([at, at + [wide for _, wide in one]], axis=1) for at, one in zip(begins, quiet, strict=True)]
    words, end = [np.sort(np.array(own, np.int64)) for own in heard], start + length
    own, leading = np.array([[True, True, False]] * 2), np.array([[True, False, False], [False, True, False]])
    group = np.array([0, 1, 0, -1])
    rank = np.array([0, 1, 2, 3, -1], np.int32)
    known = np.arange(len(start)), of.astype(np.int32), src.astype(np.int32), dst.astype(np.int32), rank, group
    bounds = np.cumsum([0, *map(len, rests)])
    found, steps = steps_of(known, (start, end, octets), own, leading, (np.concatenate(rests), bounds), on_end(words))
    assert steps[3] == steps[4] == len(found)
    for rank, which in enumerate(group[:3].tolist()):
        mine = np.repeat(np.arange(len(start)), (src == rank).astype(int) + (dst == rank))
        mine = mine[of[mine] >= 0]
        every, last = mine[own[which][of[mine]]], mine[leading[which][of[mine]]]
        told = step_ends(start[last], end[last], octets[last], rests[which], start[every], words[rank])
        first = min(start[every].min(initial=99) if len(every) else rests[which][0, 0], told[0])
        naive = np.stack([np.concatenate([[first], told[:-1]]), told], axis=1)
        assert found[steps[rank] : steps[rank + 1]].tolist() == naive.tolist()


def test_each_record_is_of_the_stream_that_has_it():
    assert streams_of(on_end([np.array([1, 4]), np.array([], np.intp), np.array([3, 0])]), 5).tolist() == [2, 0, -1, 2, 0]


@given(st.lists(times.filter(len), min_size=2, max_size=2), st.integers(0, 9))
def test_gaps_of_a_clock_are_aligned_with_those_that_begin_nearest(some, apart):
    clock, own = (np.stack([begin, begin + k], axis=1) for k, begin in enumerate(np.sort(np.array(one)) for one in some))
    naive = [min(own.tolist(), key=lambda gap: (abs(gap[0] - at[0]), -gap[0])) for at in clock.tolist()]
    naive = [gap if abs(gap[0] - at[0]) < apart else at for gap, at in zip(naive, clock.tolist(), strict=True)]
    assert aligned(clock, own, float(apart)).tolist() == naive
