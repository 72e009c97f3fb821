"""Test transfers against plain loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prism.loops.arrays.intervals import weighted_median
from prism.loops.detection.message_parts import transfers


def messages(octets):
    """First parts of messages that are at most as large as the largest part."""
    firsts = [0]
    for i in range(1, len(octets)):
        if sum(octets[firsts[-1] : i + 1]) > max(octets):
            firsts.append(i)
    return firsts


parts = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=15)


@given(st.lists(st.tuples(parts, st.booleans()), max_size=4))
def test_transfers_are_parts_or_messages(some):
    expected, offset = [], 0
    for number, (own, worded) in enumerate(some):
        begin, length, octets = (np.array(column, np.int64) for column in zip(*sorted(own), strict=True))
        end, close = begin + length, weighted_median(length, octets) / 4
        cuts = [0, *(i for i in range(1, len(own)) if begin[i] - end[:i].max() > close), len(own)]
        first = messages(np.add.reduceat(octets, cuts[:-1]).tolist())
        expected += [(number, offset + cuts[k]) for k in (range(len(cuts) - 1) if worded else first)]
        offset += len(own)
    rows = [row for own, _ in some for row in sorted(own)]
    begin, length, octets = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    bounds = np.cumsum([0, *(len(own) for own, _ in some)])
    worded = np.array([worded for _, worded in some], np.bool_)
    found = transfers(begin, begin + length, octets, bounds[:-1], bounds[1:], worded, 0.0)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected
