import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.interval_lines import NOTHING, filled, line, painted, unpainted
from prism.loops.arrays.intervals import union

PAIRS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 40)), max_size=12)


def made(pairs):
    start = np.array([a for a, _ in pairs], np.int64)
    return union(start, start + np.array([n for _, n in pairs], np.int64))


def ints(*values):
    return np.array(values, np.int64)


def small(*values):
    return np.array(values, np.int8)


def drawn(on, colours):
    """The steps of a line in colours, each with its union."""
    starts, ends = (np.concatenate([union[side] for union in colours.values()]) for side in range(2))
    cuts = np.cumsum([0, *(len(union[0]) for union in colours.values())])
    return painted(on.begin, on.end, ints(*colours), (starts, ends, cuts[:-1], cuts[1:]))


def test_a_line_has_a_stretch_for_every_rank():
    steps = [np.array([[10, 20], [20, 20], [20, 35]]), np.zeros((0, 2), np.int64), np.array([[12, 30]])]
    on = line([s.astype(np.int64) for s in steps], (5, 30))
    assert on.rank.tolist() == [0, 0, 2]
    assert on.step.tolist() == [0, 2, 0]  # an empty step is left out
    assert (np.diff(on.begin) > 0).all()
    assert (on.begin - on.shift).tolist() == [10, 20, 12]
    assert on.slot(on.place(ints(0, 0, 0, 1, 2), ints(10, 21, 5, 20, 30))).tolist() == [0, 1, NOTHING, NOTHING, 2]


def test_a_line_that_is_too_long_is_refused():
    with pytest.raises(OverflowError, match="ranks"):
        line([ints(0, 1 << 60).reshape(1, 2)] * 8, (0, 1))


@given(PAIRS, PAIRS, PAIRS)
def test_every_place_of_a_step_has_the_first_colour_that_covers_it(own, first, second):
    steps = made([(a, n) for a, n in own if n])
    on = line([np.stack(steps, axis=1)], (0, 240))
    colours = {7: made(first), 3: made(second)}
    begin, end, slot, colour = drawn(on, colours)
    for t in range(240):
        at = np.flatnonzero((begin <= t) & (t < end))
        assert len(at) == any(a <= t < b for a, b in zip(*steps, strict=True))
        for i in at:
            over = [name for name, (a, b) in colours.items() if ((a <= t) & (t < b)).any()]
            assert colour[i] == (over[0] if over else NOTHING)
            assert on.begin[slot[i]] <= t < on.end[slot[i]]


def test_neighbours_of_one_colour_are_one_unless_a_step_divides_them():
    paint = ints(0, 4, 6, 8), ints(4, 6, 8, 9), ints(0, 0, 0, 1), ints(NOTHING, 1, NOTHING, 1)
    begin, end, slot, colour = filled(
        paint, ints(0, 2, 6), ints(2, 4, 8), ints(0, 3, 7), small(5, 5, 1), small(5, 1, 1), ints(0, 2)
    )
    assert (begin.tolist(), end.tolist()) == ([0, 3, 6], [3, 8, 7])
    assert (slot.tolist(), colour.tolist()) == ([0, 0, 1], [5, 1, 1])


@given(PAIRS, PAIRS, st.data())
def test_every_place_without_a_colour_is_filled(own, first, data):
    steps = made([(a, n) for a, n in own if n])
    paint = drawn(line([np.stack(steps, axis=1)], (0, 240)), {1: made(first)})
    begin, end, slots = unpainted(paint)
    assert [begin.tolist(), end.tolist(), slots.tolist()] == [column[paint[3] == NOTHING].tolist() for column in paint[:3]]
    cut, colours = (
        np.array([data.draw(st.integers(a, b)) for a, b in zip(begin, end, strict=True)], np.int64),
        st.integers(0, 2),
    )
    before, label = (np.array([data.draw(colours) for _ in cut], np.int8) for _ in range(2))
    told = list(zip(*filled(paint, begin, end, cut, before, label, 0 * steps[0]), strict=True))
    seen = {t: (slot, colour) for a, b, slot, colour in told for t in range(a, b)}
    for a, b, slot, colour in zip(*paint, strict=True):
        for t in range(a, b):
            k = np.searchsorted(begin, t, "right") - 1
            one = colour if colour != NOTHING else before[k] if t < cut[k] else label[k]
            assert seen.pop(t) == (slot, one)
    assert not seen
    assert all(a[1] < b[0] or (a[1] == b[0] and a[2:] != b[2:]) for a, b in itertools.pairwise(told))
