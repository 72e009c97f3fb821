import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.interval_lines import NOTHING
from prism.loops.phases.owed_traffic import owed

BEGINS = np.array([0, 10, 30])  # of steps that end at the next, the last at 50
TALK = st.tuples(st.integers(0, 49), st.booleans(), st.booleans(), st.integers(1, 9), st.booleans())


def step_of(place):
    return int(np.searchsorted(BEGINS, place, "right")) - 1


def naive(at, talk):
    """Octets given less those taken, from the begin of the step to a moment; what is taken counts as much as what is given."""
    scale = np.ones(3)
    for k in range(3):
        gave, took = (
            sum(t[3] for t in talk if t[1] is side and t[2] and t[4] and step_of(t[0]) == k) for side in (True, False)
        )
        scale[k] = gave / took if gave and took else 1.0
    over = [[t for t in talk if t[2] and BEGINS[step_of(place)] <= t[0] <= place] for place in at]
    return [sum(t[3] * (1.0 if t[1] else -scale[step_of(t[0]) if t[4] else -1]) for t in those) for those in over]


@given(st.lists(TALK, max_size=20), st.lists(st.integers(0, 49), unique=True))
def test_what_was_given_beyond_what_was_taken(talk, places):
    """A record is its start, whether its end sends, whether it is of the kind, its octets, whether it lies in a step."""
    talk, places = sorted(talk), sorted(places)
    start, sends, own, octets = (np.array([one[i] for one in talk], np.int64) for i in range(4))
    slot = np.array([step_of(one[0]) if one[4] else NOTHING for one in talk], np.int64)
    step = np.array([step_of(place) for place in places], np.int64)
    columns = start, slot, sends > 0, octets, own.astype(np.int8), 1
    assert np.allclose(owed(np.array(places, np.int64), step, *columns, BEGINS), naive(places, talk))
