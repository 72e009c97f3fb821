import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.dependencies.exchange_rounds import fill_needs, joined_round, shared_needs
from prism.loops.dependencies.matched_volumes import UNKNOWN, Moved, shares_of


def joined(own, to, start, octets, mask=None):
    mask = np.ones(len(own), np.bool_) if mask is None else mask
    return joined_round(shares_of(Moved(own, start, octets)), mask, to, octets).tolist()


def test_who_has_joined_a_round_of_an_exchange_has_no_work_left_in_it():
    """Build two rounds in which rank 0 sends to three others; one of them is late in the first."""
    own, to = np.zeros(12, np.int64), np.repeat([1, 2, 3], 4)
    start = np.array([0, 1, 50, 51, 1, 2, 51, 52, 30, 31, 52, 53])
    assert joined(own, to, start, np.full(12, 100)) == [False] * 4 + [True] * 8
    assert not any(joined(own[:4], to[:4], start[:4], np.full(4, 100)))  # a lane alone
    assert not len(joined(*(np.zeros(0, np.int64) for _ in range(4))))


def naively_joined(own, to, start, octets, mask, parts=1024):
    """Search round by round through all records."""
    order = [i for i in np.argsort(start, kind="stable").tolist() if mask[i]]
    turns = []
    for k, i in enumerate(order):
        lane = [j for j in order if (own[j], to[j]) == (own[i], to[i])]
        moved = sum(octets[j] for j in order[:k] if j in lane)
        turns.append((own[i], round(moved / sum(octets[j] for j in lane) * parts)))
    first = {turn: start[i] for turn, i in reversed(list(zip(turns, order, strict=True)))}
    late = {i for turn, i in zip(turns, order, strict=True) if start[i] > first[turn]}
    return [i in late for i in range(len(own))]


codes = st.integers(0, 2)
records = st.lists(st.tuples(codes, codes, st.integers(0, 30), st.integers(1, 3), st.booleans()), max_size=16)


@given(records)
def test_who_joins_a_round_is_as_in_the_plain_twin(some):
    own, to, start, octets = (np.array([one[k] for one in some], np.int64) for k in range(4))
    mask = np.array([one[4] for one in some], np.bool_)
    assert joined(own, to, start, octets, mask) == naively_joined(own, to, start, octets, mask)


@given(
    st.permutations(range(6)), st.lists(st.tuples(st.booleans(), st.integers(-1, 9), st.booleans()), max_size=6), st.booleans()
)
def test_rounds_are_settled_as_the_plain_way_says(places, some, ahead):
    rows = np.array(places[: len(some)], np.intp)
    mask, before, joined = (np.array([one[k] for one in some], kind) for k, kind in enumerate((np.bool_, np.int64, np.bool_)))
    start, needed = np.arange(20, 26), np.array([4, -1, 0, 7, 2, 5])
    expected, begin = needed.tolist(), []
    for row, (tells, came, follows) in zip(rows.tolist(), some, strict=True):
        if tells and (follows or (came < 0 and ahead)):
            expected[row] = int(start[row])
        elif tells:
            expected[row] = UNKNOWN if came < 0 else max(expected[row], came)
        if tells and not follows and expected[row] > 0:
            begin.append(row)
    assert fill_needs(needed, rows, mask, before, joined, start, ahead).tolist() == begin
    assert needed.tolist() == expected


def test_of_two_that_begin_at_once_both_needed_what_the_later_one_did():
    pair, back = np.array([0, 1, 0, 1, 2]), np.array([1, 0, -1])  # 0 to 1, 1 to 0, 2 to 0
    start, need = np.array([1000, 1001, 2000, 2500, 1000]), np.array([100, 900, 1500, 1600, 300])
    assert shared_needs(pair, back, start, need, 0.02).tolist() == [900, 900, 1500, 1600, 300]
    assert not len(shared_needs(pair[:0], back[:0], start[:0], need[:0], 0.02))


@given(st.lists(st.tuples(codes, st.integers(50, 90), st.integers(1, 50)), max_size=16))
def test_who_meets_whom_is_as_in_the_plain_twin(some):
    pair, start, need = (np.array([one[k] for one in some], np.int64) for k in range(3))
    back, expected = np.array([1, 0, -1]), need.tolist()
    for i in range(len(some)):
        others = sorted((j for j in range(len(some)) if pair[j] == back[pair[i]]), key=lambda j: start[j])
        before, after = ([j for j in others if (start[j] < start[i]) == sooner] for sooner in (True, False))
        nearest = min([*before[-1:], *after[:1]], key=lambda j: abs(start[j] - start[i]), default=i)
        both = max(need[i], need[nearest])
        if nearest != i and abs(start[nearest] - start[i]) <= 0.2 * (start[i] - both):
            expected[i] = int(both)
    assert shared_needs(pair, back, start, need, 0.2).tolist() == expected
