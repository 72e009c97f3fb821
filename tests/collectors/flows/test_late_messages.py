"""Test the message of packets that arrive after newer ones."""

import pytest

from tests.collectors.builders.packets import roce
from tests.collectors.flows.test_rdma_messages import LAST, MIDDLE, ONLY, records, write

SEND_FIRST, SEND_LAST, SEND_ONLY = 0, 2, 4


def test_a_message_whose_first_packet_comes_last_is_whole():
    first, second, third = write(0, 100, 2), write(0, 102, 3), write(0, 105, 2)
    rows = [*first, third[0], second[1], third[1], second[2], second[0]]
    flows, _ = records([row | {"time_ns": i * 1000} for i, row in enumerate(rows)])
    assert sorted(flows.octets.tolist()) == [4096 + 100, 4096 + 100, 2 * 4096 + 100]
    assert (flows.messages.tolist(), flows.retransmits.sum()) == ([1] * 3, 0)


def test_messages_of_one_packet_that_overtake_each_other():
    rows = [roce(i * 1000, ONLY, psn, 500, dma_length=500) for i, psn in enumerate([3, 1, 2, 0, 7, 6, 5, 4])]
    flows, _ = records(rows)
    assert (flows.octets.tolist(), flows.messages.tolist(), flows.retransmits.sum()) == ([500] * 8, [1] * 8, 0)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (1, 0, 3, 2), (0, 3, 1, 2)])
def test_sends_which_do_not_say_how_long_they_are(order):
    sent = [roce(0, SEND_FIRST, 0), roce(0, SEND_LAST, 1, 100), roce(0, SEND_FIRST, 2), roce(0, SEND_LAST, 3, 100)]
    flows, _ = records([sent[k] | {"time_ns": i * 1000} for i, k in enumerate(order)])
    assert (flows.octets.sum(), flows.packets.sum(), flows.retransmits.sum()) == (2 * 4196, 4, 0)


def test_more_messages_than_are_held():
    """Packets after their message was emitted form their own record, not part of another message."""
    rows = [row for k in range(12) for row in write(k * 10_000, 10 * k, 10)]
    late = rows.pop(9)
    flows, _ = records([*rows, late | {"time_ns": 10**6}])
    assert late["opcode"] == LAST
    assert flows.retransmits.sum() == 0
    assert sorted(flows.octets.tolist())[1:] == [9 * 4096 + 100] * 12
    assert rows[5]["opcode"] == MIDDLE
