from collections import Counter

import numpy as np
import pytest

from collectors.addresses.bounded_address_book import BoundedAddressBook
from collectors.exports.records.elements import DEFAULT
from collectors.exports.records.flow_columns import Context, Members, Numbers, flow_columns, rates, reverse_columns, times
from collectors.exports.records.record_loops import addresses_of, columns_of, fixed_records
from collectors.exports.records.templates import Definition, Field, layout_of
from collectors.exports.records.time_formats import Clock, Clocks
from collectors.exports.tallies import Accounts

SENT = 1_000_000_000_000


def numbers(*columns):
    """Records of elements: (element, values)."""
    layout = layout_of(Definition(300, -1, tuple(Field(e >> 16, e & 0xFFFF, 8) for e, _ in columns)), DEFAULT)
    n = len(columns[0][1])
    data = np.array([values for _, values in columns], ">u8").T.tobytes()
    found = columns_of(layout.slots, n)
    start = np.frombuffer(data, np.uint8).ctypes.data
    fixed_records(start, np.array([0]), np.array([n]), layout.size, layout.slots, addresses_of(found))
    return Numbers(layout, found, n)


def context(n, *, uptime=-1, boot=-1):
    fill = lambda value: np.full(n, value, np.int64)  # noqa: E731
    members = Members(np.arange(n), np.ones(n, np.int64))
    clocks = Clocks([Clock()], Accounts(Counter(), [None]))
    said = (fill(SENT), fill(SENT + 5), fill(uptime), fill(boot))
    return Context(members, *said, np.zeros(n, np.int32), clocks, lambda _: np.zeros(n, np.uint64))


def test_one_exporter_s_unknown_boot_time_does_not_change_another_s_times():
    given = numbers((22, [1000, 1000]), (21, [3000, 3000]))
    around = context(2)
    around.boot_ns[1] = SENT - 10**10
    first, last = times(given, around)
    assert first.tolist() == [SENT - 2 * 10**9, SENT - 9 * 10**9]
    assert last.tolist() == [SENT, SENT - 7 * 10**9]


def test_counts_that_are_too_big_are_the_most_there_can_be():
    assert numbers((1, [5, 1 << 63, (1 << 64) - 1])).count("octets").tolist() == [5, (1 << 63) - 1, (1 << 63) - 1]


def test_columns_that_are_not_told_are_left_out():
    columns = flow_columns(numbers((1, [7])), context(1), BoundedAddressBook())
    assert set(columns) == {"start_ns", "end_ns", "octets"}
    columns = flow_columns(numbers((224, [99])), context(1), BoundedAddressBook())
    assert columns["octets"].tolist() == [99]


def test_reverse_times():
    pen = 29305 << 16
    given = numbers((pen | 1, [5]), (pen | 152, [4]), (pen | 153, [9]), (1, [3]))
    back = reverse_columns(given, {"octets": given.count("octets"), "src": np.array([1]), "dst": np.array([2])}, context(1))
    assert (back["start_ns"][0], back["end_ns"][0], back["octets"][0], back["src"][0]) == (4_000_000, 9_000_000, 5, 2)
    assert reverse_columns(numbers((1, [3])), {}, context(1)) is None


@pytest.mark.parametrize(("told", "said", "expected"), [(7, 0, 7), (7, 9, 9), (1, 1 << 60, 1 << 32)])
def test_what_a_record_says_counts_more_than_what_was_reported(told, said, expected):
    assert rates(numbers((34, [said])), np.array([told])).tolist() == [expected]


def test_times_are_capped_before_they_are_multiplied():
    most = ((1 << 62) - 1) // 1_000_000
    first, last = times(numbers((152, [7, 1 << 63]), (153, [6, most + 1])), context(2))
    assert first.tolist() == [7_000_000, most * 1_000_000]
    assert last.tolist() == [7_000_000, most * 1_000_000]


def test_what_all_sets_have_alike_is_one_value():
    members = Members(np.array([0, 2]), np.array([3, 1]))
    assert members.spread(np.array([5, 6, 5])).strides == (0,)
    assert members.spread(np.array([5, 6, 7])).tolist() == [5, 5, 5, 7]
    assert members.of.tolist() == [0, 0, 0, 2]
