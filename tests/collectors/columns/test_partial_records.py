import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.partial_records import Pieces, hash_columns, positions, reduce_runs, run_sizes, run_starts, running_max


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100)), max_size=60), st.integers(1, 20))
def test_pieces_join_in_order(rows, many):
    pieces = Pieces({"first": "first", "sum": "sum", "min": "min", "max": "max", "or": "or"}, many=many)
    for record, value in rows:
        column = np.array([value])
        pieces.add({"record": np.array([record])} | dict.fromkeys(("first", "sum", "min", "max", "or"), column))
    joined = pieces.joined()
    for i, record in enumerate(sorted({r for r, _ in rows})):
        values = [v for r, v in rows if r == record]
        union = int(np.bitwise_or.reduce(values))
        assert [joined[n][i] for n in ("record", "first", "sum", "min", "max", "or")] == [
            record, values[0], sum(values), min(values), max(values), union,
        ]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**39), 2**39)), max_size=40))
def test_running_max_looks_back_in_its_run(rows):
    rows.sort(key=lambda row: row[0])
    keys, values = np.array([k for k, _ in rows], np.int64), np.array([v for _, v in rows], np.int64)
    starts = run_starts(keys)
    got = running_max(values, starts, np.full(len(starts), -7))
    for i, (key, _) in enumerate(rows):
        assert got[i] == max([-7, *(v for k, v in rows[:i] if k == key)])


def test_runs():
    values = np.array([4, 4, 2, 4])
    starts = run_starts(values)
    assert starts.tolist() == [0, 2, 3]
    assert run_sizes(starts, 4).tolist() == [2, 1, 1]
    assert positions(starts, 4).tolist() == [0, 1, 0, 0]
    assert reduce_runs({"a": values}, starts, {"a": "sum"})["a"].tolist() == [8, 2, 4]
    empty = run_starts(np.zeros(0))
    assert len(empty) == len(run_sizes(empty, 0)) == len(positions(empty, 0)) == 0


def test_mixed_distinguishes_rows():
    n = np.arange(100_000)
    keys = hash_columns(n // 1000, n % 1000)
    assert len(np.unique(keys)) == len(n)
    assert np.array_equal(keys[5:9], hash_columns(n[5:9] // 1000, n[5:9] % 1000))
