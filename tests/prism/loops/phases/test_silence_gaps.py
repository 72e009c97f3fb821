import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.interval_lines import NOTHING
from prism.loops.phases.silence_gaps import ended, medians

ENDS = np.array([30, 60])  # of two steps, the first from 0 on
TIMES = st.integers(0, 70)


def ints(*values):
    return np.array(values, np.int64)


@given(st.sets(st.integers(0, 59), max_size=9), st.lists(st.tuples(TIMES, st.integers(0, 9), TIMES), max_size=9), st.booleans())
def test_with_what_silences_end(cuts, talk, worded):
    """Talk is when its sender was ready, how long it waited then, and when its receiver gave word."""
    begin = ints(*sorted(cuts))
    end = np.append(begin[1:], 60)[: len(begin)]
    slot = (begin >= 30).astype(np.int64)
    ready, waited, word = (ints(*(one[i] for one in talk)) for i in range(3))
    start, rows = ready + waited, np.argsort(ready, kind="stable")
    speaks, called = ended(begin, end, slot, rows, start, ready, word if worded else ints(), ENDS)
    for i, (a, b) in enumerate(zip(begin, end, strict=True)):
        one = next((row for row in rows if ready[row] > a), None)
        known = one is not None and ready[one] <= ENDS[slot[i]]
        assert speaks[i] == (known and ready[one] <= b)
        if speaks[i]:
            assert called[i] == (worded and start[one] == b and word[one] > a and b - word[one] < (b - a) / 10)
        else:
            assert called[i] == (known and ready[one] <= a + (b - a) * 11 // 10)


def test_lower_medians_by_group():
    assert medians(ints(2, 0, 2, 2, 0), ints(9, 4, 1, 5, 2), 4).tolist() == [2, NOTHING, 5, NOTHING]
    assert medians(ints(), ints(), 2).tolist() == [NOTHING, NOTHING]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9))))
def test_medians_are_the_lower_ones(some):
    group, values = (ints(*(one[i] for one in some)) for i in range(2))
    for k, median in enumerate(medians(group, values, 4)):
        own = sorted(values[group == k])
        assert median == (own[(len(own) - 1) // 2] if own else NOTHING)
