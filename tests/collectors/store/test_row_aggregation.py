import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.store._row_aggregation import bounds, picked, runs, sort_keys, sums

TIMES = st.integers(-(10**18), 10**18)
CODES = st.integers(0, 2)
ROWS = st.lists(st.tuples(TIMES | st.integers(-200, 200), CODES, CODES), max_size=40)


def columns(rows):
    unit, one, other = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(unit, np.int64), np.array(one, np.int32), np.array(other, np.int32)


@given(places=st.lists(st.integers(0, 4), max_size=20))
def test_rows_of_columns_of_any_width_are_picked(places):
    wanted = {str(kind): np.arange(5).astype(kind) for kind in (np.uint8, np.int64, np.uint16, np.int32, np.float64)}
    wanted["strided"] = np.arange(10, dtype=np.int64)[::2]
    where = np.array(places, np.int32)
    found = picked({name: (values, where) for name, values in wanted.items()})
    assert list(found) == list(wanted)
    for name, values in wanted.items():
        assert found[name].dtype == values.dtype
        assert found[name].tolist() == values[where].tolist()


@pytest.mark.parametrize("place", [5, -1])
def test_a_row_that_is_not_there_is_reported(place):
    with pytest.raises(IndexError, match="octets"):
        picked({"octets": (np.arange(5), np.array([0, place], np.int32))})


def test_nothing_is_picked():
    assert picked({}) == {}


@given(rows=ROWS, length=st.sampled_from([1, 60, 7_000_000_000]))
def test_runs_begin_where_something_changes(rows, length):
    keys = [(unit // length, one, other) for unit, one, other in rows]
    found = runs(*columns(rows), length)
    assert found.tolist() == [i for i, key in enumerate(keys) if not i or key != keys[i - 1]]


@given(rows=ROWS)
def test_runs_are_summed_and_bounded(rows):
    unit, one, other = columns(rows)
    at = runs(unit, one, other, 60)
    parts = np.split(unit, at[1:]) if len(at) else []
    assert sums(unit, at).tolist() == [sum(max(n, 0) for n in part.tolist()) for part in parts]
    least, most = bounds(unit, unit[::-1].copy()[::-1], at)
    assert least.tolist() == [part.min() for part in parts]
    assert most.tolist() == [part.max() for part in parts]


@given(rows=st.lists(st.tuples(st.integers(-(10**6), 10**6), CODES, CODES), min_size=1, max_size=40))
def test_keys_sort_as_bucket_ends_and_place_do(rows):
    start, src, dst = columns(sorted(rows, key=lambda row: row[0]))
    rank = np.array([2, 0, 1])
    keys = sort_keys(start, (src, dst), rank, 300, 6)
    known = [(int(s) // 300, rank[a], rank[b], i) for i, (s, a, b) in enumerate(zip(start, src, dst, strict=True))]
    assert np.argsort(keys).tolist() == [one[-1] for one in sorted(known)]
    assert (keys & 63).tolist() == list(range(len(keys)))
    with pytest.raises(IndexError):
        sort_keys(start, (src, dst + np.int32(3)), rank, 300, 6)
