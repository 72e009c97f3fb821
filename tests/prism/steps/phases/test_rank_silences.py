import numpy as np

from prism.loops.arrays.interval_lines import line
from prism.steps.phases.rank_silences import PP, LineRecords, by_ready, following, silences


def ints(*values):
    return np.array(values, np.int64)


ON = line([ints(0, 100, 100, 200).reshape(2, 2)])


def talk(*rows):
    """(start, end, sends, ready, called) each."""
    start, end, sends, ready, called = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    kind = np.full(len(start), PP)
    return LineRecords(start, end, ON.slot(end), kind, kind * 0, kind * 0 + 10, sends > 0, ready, called)


def made(*rows, gaps):
    begin, end, slot = (np.array(column, np.int64) for column in zip(*gaps, strict=True))
    return silences(begin, end, slot, talk(*rows), ON)


def test_a_silence_is_cut_where_its_rank_was_ready():
    gaps = made((50, 60, 1, 30, -1), gaps=[(0, 50, 0), (60, 100, 0)])
    assert gaps.begin.tolist() == [0, 30, 60]
    assert gaps.end.tolist() == [30, 50, 100]
    assert gaps.slot.tolist() == [0, 0, 0]
    assert gaps.speaks.tolist() == [True, False, False]
    assert gaps.tail.tolist() == [False, False, True]


def test_who_is_never_silent_has_no_silences():
    gaps = silences(ints(), ints(), ints(), talk((50, 60, 1, 30, -1)), ON)
    assert [len(column) for column in gaps] == [0] * len(gaps)


def test_who_speaks_as_soon_as_called_may_have_waited():
    assert made((50, 60, 1, 50, 48), gaps=[(0, 50, 0)]).called.tolist() == [True]
    assert made((50, 60, 1, 50, 20), gaps=[(0, 50, 0)]).called.tolist() == [False]
    assert made((50, 52, 0, 50, -1), (53, 60, 1, 53, -1), gaps=[(0, 50, 0)]).called.tolist() == [True]
    assert made((50, 52, 0, 50, -1), (80, 90, 1, 80, -1), gaps=[(0, 50, 0), (52, 80, 0)]).called.tolist() == [False, False]


def test_what_follows_is_of_the_same_step():
    own = talk((150, 160, 1, 150, -1), (60, 70, 1, 55, -1))
    ready = own.ready[by_ready(own, own.sends)]
    assert ready.tolist() == [55, 150]
    gaps = made((60, 70, 1, 60, -1), gaps=[(0, 50, 0), (70, 100, 0), (160, 200, 1)])
    at, known = following(ready, gaps, ON)
    assert known.tolist() == [True, False, False]
    assert at[0] == 0
