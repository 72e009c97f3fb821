"""Test messages and transfers against plain loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.intervals import weighted_median
from prism.loops.detection.message_parts import messages, transfers


@given(st.lists(st.integers(1, 9), max_size=30))
def test_parts_are_joined_to_messages_as_large_as_the_largest(octets):
    expected = []
    for i, size in enumerate(octets):
        if expected and sum(octets[expected[-1][0] : i]) + size <= max(octets):
            expected[-1] = (expected[-1][0], i)
        else:
            expected.append((i, i))
    first, last = messages(np.array(octets, np.int64), 0.0)
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == expected


parts = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=15)


@given(st.lists(st.tuples(parts, st.booleans()), max_size=4))
def test_transfers_are_parts_or_messages(some):
    expected, offset = [], 0
    for number, (own, worded) in enumerate(some):
        begin, length, octets = (np.array(column, np.int64) for column in zip(*sorted(own), strict=True))
        end, close = begin + length, weighted_median(length, octets) / 4
        cuts = [0, *(i for i in range(1, len(own)) if begin[i] - end[:i].max() > close), len(own)]
        first, _ = messages(np.add.reduceat(octets, cuts[:-1]), 0.0)
        expected += [(number, offset + cuts[k]) for k in (range(len(cuts) - 1) if worded else first.tolist())]
        offset += len(own)
    rows = [row for own, _ in some for row in sorted(own)]
    begin, length, octets = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    bounds = np.cumsum([0, *(len(own) for own, _ in some)])
    worded = np.array([worded for _, worded in some], np.bool_)
    found = transfers(begin, begin + length, octets, bounds[:-1], bounds[1:], worded, 0.0)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected
