import numpy as np
import pytest

from collectors.exports.sequence_gaps import LATE, LOST, RESTARTED, UNITS, follow


@pytest.mark.parametrize(
    ("numbers", "counts", "expected", "lost", "late", "restarted"),
    [
        ([5, 6, 7], [1, 1, 1], 8, 0, 0, 0),
        ([5, 7, 6, 8], [1, 1, 1, 1], 9, 1, 1, 0),
        ([UNITS - 2, UNITS - 1, 1], [1, 1, 1], 2, 1, 0, 0),
        ([100, 0x7000_0000, 0x7000_0001], [1, 1, 1], 0x7000_0002, 0, 0, 1),
        ([3_000_000, 0, 1], [1, 1, 1], 2, 0, 0, 1),
        ([10, 99, 200], [-1, 28, 28], 228, 73, 0, 0),
    ],
)
def test_gaps(numbers, counts, expected, lost, late, restarted):
    state, found = np.array([-1]), np.zeros((3, 1), np.int64)
    source = np.zeros(len(numbers), np.int64)
    for part in (slice(0, 2), slice(2, None)):  # batches
        follow(source[part], np.array(numbers[part]), np.array(counts[part]), state, found)
    assert state.tolist() == [expected]
    assert found[[LOST, LATE, RESTARTED], 0].tolist() == [lost, late, restarted]


def test_who_has_no_number_is_left_out():
    state, found = np.array([7]), np.zeros((3, 1), np.int64)
    follow(np.array([-1]), np.array([99]), np.array([1]), state, found)
    assert state.tolist() == [7]
