import pytest

from collectors.aggregation.flow_table import FlowTable
from collectors.columns.record import RST, SYN
from collectors.flows.flow_state import ALONE, FIRST, FLOW, FLOWS, LAST_ALONE
from tests.collectors.aggregation.test_flow_table import ADDRESSES
from tests.collectors.builders.packets import packets, tcp

MS, IDLE = 10**6, 1000 * 10**6


def fed(*rows):
    table = FlowTable(exporters=["a"], addresses=ADDRESSES, idle_ns=IDLE)
    table.add("a", packets(list(rows)))
    return table


def counts(table):
    return tuple(int(table.table.counters[counter]) for counter in (FLOWS, ALONE, LAST_ALONE))


def test_it_takes_a_third_of_the_memory():
    assert 3 * FIRST.itemsize <= FLOW.itemsize


@pytest.mark.parametrize(
    ("row", "alone"),
    [
        (tcp(0, 100, 5), True),
        (tcp(0, 256, 5), True),
        (tcp(0, 257, 5), False),
        (tcp(0, 0, 5), False),
        (tcp(0, 100, 5, flags=SYN), False),
        (tcp(0, 100, 5, flags=RST), False),
        (tcp(0, 100, protocol=17, tcp_flags=0), True),
    ],
)
def test_only_small_data_is_alone(row, alone):
    assert counts(fed(row)) == ((0, 1, 1) if alone else (1, 0, 0))


def test_the_second_packet_gives_a_flow_its_row_and_the_place_is_used_again():
    table = fed(*(tcp(k, 100, 5, src_port=k) for k in range(10)))
    assert counts(table) == (0, 10, 10)
    table.add("a", packets([tcp(20, 100, 105, src_port=3), tcp(21, 100, 105, src_port=7), tcp(22, 100, 205, src_port=3)]))
    assert counts(table) == (2, 8, 10)
    table.add("a", packets([tcp(30 + k, 100, 5, src_port=100 + k) for k in range(3)]))
    assert (counts(table), table.live) == ((2, 11, 11), 13)
    flows, _, _ = table.finish()
    assert (len(flows), flows.octets.sum(), flows.retransmits.sum()) == (16, 1600, 0)


@pytest.mark.parametrize(
    ("second", "octets", "again", "reason"),
    [
        (tcp(MS, 100, 105, ip_id=8), 200, 0, None),
        (tcp(MS, 100, 5, ip_id=8), 100, 1, None),
        (tcp(MS, 100, 5, ip_id=7), 100, 0, "seen twice by a mirror"),
        (tcp(MS, 1, 104, ip_id=8), 100, 0, "keep-alive or window probe"),
        (tcp(MS, 100, 2**32 - 95, ip_id=8), 100, 1, None),
        (tcp(2 * IDLE, 100, 5, ip_id=8), 200, 0, None),
    ],
)
def test_a_flow_goes_on_as_its_first_packet_left_it(second, octets, again, reason):
    flows, _, tally = fed(tcp(0, 100, 5, ip_id=7), second).finish()
    assert (flows.octets.sum(), flows.retransmits.sum()) == (octets, again)
    assert reason is None or tally[reason] == 1


def test_those_that_rested_are_forgotten_and_the_others_found_again():
    table = fed(*(tcp(k * MS, 100, 5, src_port=k, ip_id=7) for k in range(100)))
    table.close_before(50 * MS)
    assert counts(table) == (0, 50, 50)
    table.add("a", packets([tcp(200 * MS + k, 100, 5, src_port=k, ip_id=8) for k in (10, 60)]))
    assert counts(table) == (1, 50, 51)
    flows, _, _ = table.finish()
    assert (flows.octets.sum(), flows.retransmits.sum()) == (101 * 100, 1)
