import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.listening._fair_shares import UNIT, Shares, fair_limit


def codes(*slots):
    return np.array(slots, np.int32)


def test_who_sends_little_gets_all_and_a_flood_gets_what_is_left():
    shares = Shares(most=100)
    flood = shares.add(codes(*[3] * 90), np.full(90, 60))
    arrived = codes(*[3] * 50, *[0] * 5, *[1] * 30)
    keep = shares.fit(arrived, np.full(85, 60))
    assert keep[50:].all()
    assert not keep[:50].any()
    shares.done(flood)
    keep = shares.fit(arrived, np.full(85, 60))
    assert keep.all()
    shares.add(arrived, np.full(85, 60))
    assert shares.fit(codes(*[3] * 100), np.full(100, 60)).tolist() == [True] * 15 + [False] * 85


def test_long_datagrams_count_for_more_and_the_first_stay():
    shares = Shares(most=10)
    assert shares.fit(codes(0, 0, 0, 1), np.array([4 * UNIT, 4 * UNIT, 10, 10])).tolist() == [True, False, False, True]


def test_nothing():
    assert Shares().fit(codes(), np.zeros(0, np.int64)).tolist() == []


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 300))
def test_the_level_is_the_largest_that_fits(wanted, most):
    """By a search through all levels."""
    found = fair_limit(np.array(wanted), most)
    fits = [n for n in range(max(wanted) + 1) if sum(min(one, n) for one in wanted) <= most]
    assert found == max(fits)
