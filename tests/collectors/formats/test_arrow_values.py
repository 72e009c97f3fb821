from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats.arrow_values import integers, parse_time, to_list

S = 10**9


def read(values, kind=None, scale=1, words=None):
    found = integers(pa.array(values, kind), scale, words)
    state = zip(found.value.tolist(), found.good.tolist(), found.empty.tolist(), strict=True)
    return [None if empty else value if good else "bad" for value, good, empty in state]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, None, -3], pa.int16(), [1, None, -3]),
        ([1, 2**63, 2**63 - 1], pa.uint64(), [1, "bad", 2**63 - 1]),
        ([1.0, 1.5, None, float("nan"), 1e30], pa.float64(), [1, "bad", None, "bad", "bad"]),
        ([Decimal("3.00"), Decimal("3.50"), None], pa.decimal128(10, 2), [3, "bad", None]),
        ([Decimal(10**30), Decimal(7)], pa.decimal256(50, 0), ["bad", 7]),
        ([True, None], pa.bool_(), ["bad", None]),
        ([None, None], pa.null(), [None, None]),
        ([b"x"], pa.binary(), ["bad"]),
        ([[1]], pa.list_(pa.int8()), ["bad"]),
        ([5, None], pa.timestamp("us"), [5_000, None]),
        ([2**62, 5], pa.timestamp("s", "UTC"), ["bad", 5 * S]),
        ([5], pa.duration("ms"), [5_000_000]),
        ([1], pa.date32(), [86_400 * S]),
        (["1", " 2 ", "+3", "4.0", "5.5", "", None, "0x10", "1_0", "1e3", str(2**63), "inf", "9" * 50], pa.string(),
         [1, 2, 3, 4, "bad", None, None, "bad", "bad", 1000, "bad", "bad", "bad"]),
        (["7", "8"], pa.large_string(), [7, 8]),
    ],
)  # fmt: skip
def test_types(values, kind, expected):
    assert read(values, kind) == expected
    if len({str(v) for v in values}) == len(values) and pa.types.is_string(kind):
        coded = integers(pa.array(values, kind).dictionary_encode())
        assert [None if e else v if g else "bad" for v, g, e in zip(*coded, strict=True)] == expected


def test_scales():
    assert read([1, 2**60], pa.int64(), S) == [S, "bad"]
    assert read([3, 5], pa.int64(), 0.5) == [2, 2]  # rounded to even, as NumPy does
    assert read(["1521911721.255387", "-0.5", "0.0000000001"], scale=S) == [1521911721255387000, -500_000_000, 0]
    assert read(["1.5", "2", "999999999.999"], scale=1_000_000) == [1_500_000, 2_000_000, 999_999_999_999_000]
    assert read([1521911721.255387], pa.float64(), S) == [1521911721255387000]
    assert read([Decimal("1521911721.255387123")], pa.decimal128(30, 9), S) == [1521911721255387123]
    assert read(["0.25"], scale=4.5) == [1]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01 00:00:01", S),
        ("1970-01-01T00:00:01.5", 1_500_000_000),
        ("1970-01-01T00:00:01,5Z", 1_500_000_000),
        ("1970-01-01T01:00:01.123456789+01:00", 1_123_456_789),
        ("00:00:01.5", 1_500_000_000),
        ("1d 00:00:01", 86_401 * S),
    ],
)
def test_moments(text, ns):
    assert parse_time(text) == ns
    assert read([text, "5"], scale=S, words=parse_time) == [ns, 5 * S]
    assert read([text]) == ["bad"]


@pytest.mark.parametrize("text", ["", "yesterday", "0000-00-00 00:00:00.000", "1970-13-01 00:00:00", "9999-01-01 00:00:00"])
def test_an_invalid_time(text):
    assert read([text or "x", "1"], scale=S, words=parse_time) == ["bad", S]


@given(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)))
def test_any_time_comes_back(when):
    since = when.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    ns = ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000
    assert parse_time(when.isoformat(" ", "microseconds")) == ns
    assert read([when.isoformat("T", "microseconds")] * 2, scale=S, words=parse_time) == [ns] * 2


@given(st.lists(st.text(alphabet="0123456789.-+eE _x:T", max_size=24) | st.integers(-(2**64), 2**64).map(str), max_size=8))
def test_a_text_means_the_same_alone_and_among_others(texts):
    for scale in (1, S):
        for words in (None, parse_time):
            together = read(texts, pa.string(), scale, words)
            assert together == [read([text], pa.string(), scale, words)[0] for text in texts]


def test_many_odd_texts_are_each_read_once():
    found = integers(pa.array([f"{i}x" for i in range(1000)] + ["5"]))
    assert np.flatnonzero(found.good).tolist() == [1000]


def test_texts_that_are_none_are_listed_all_the_same():
    octets = pa.array([b"a\xbd", None, b"c"])
    assert to_list(octets.view(pa.string())) == ["a\ufffd", None, "c"]
    assert to_list(pa.array(["a", None])) == ["a", None]
