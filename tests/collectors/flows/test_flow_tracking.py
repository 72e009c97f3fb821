import numpy as np
import pytest

from collectors.aggregation.flow_table import FlowTable
from collectors.flows.flow_state import FLOWS
from collectors.flows.flow_tracking import AHEAD
from tests.collectors.builders.packets import ADDRESSES, packets, roce, tcp
from tests.collectors.flows.test_rdma_messages import ACKNOWLEDGE, write


@pytest.mark.parametrize("at", [1, AHEAD - 1, AHEAD, AHEAD + 1, 2 * AHEAD + 5])
def test_packets_are_taken_up_to_where_the_clock_goes_back(at):
    table = FlowTable(exporters=["a"], addresses=ADDRESSES)
    rows = [tcp(1000 * i, 1000, 1000 * i) for i in range(3 * AHEAD)]
    rows[at]["time_ns"] -= 1500
    table.add("a", packets(rows))
    assert table.tally["packets seen once"] == at
    assert not table.ordered
    flows, _, tally = table.finish()
    assert tally["packets seen once"] == 3 * AHEAD
    assert flows.octets.sum() == 3 * AHEAD * 1000


def test_refusals_are_distinguished_from_acknowledgments():
    syndromes = [-1, 0, 0x1F, 0x60, 0x63, 0x20, 0x3F]
    table = FlowTable(exporters=["a"], addresses=ADDRESSES)
    table.add("a", packets([roce(i, ACKNOWLEDGE, i, 0, syndrome=s) for i, s in enumerate(syndromes)]))
    flows, _, tally = table.finish()
    assert len(flows) == 0
    assert (tally["acknowledgment only"], tally["negative acknowledgment"], tally["receiver not ready"]) == (3, 2, 2)


def test_memory_is_of_the_live_flows():
    table, second = FlowTable(exporters=["a"], addresses=ADDRESSES, idle_ns=10**9), 10**9
    most, messages = 0, 0
    for i in range(60):
        rows = [row for k in range(50) for row in write(i * second + k * 1000, 7, 2, qp=50 * i + k + 1)]
        rows += [tcp(i * second + k, 1000, 5, src_port=50 * i + k) for k in range(50)]
        table.add("a", packets(sorted(rows, key=lambda row: row["time_ns"])))
        messages, table.many = messages + 50, 100
        most = max(most, int(table.table.counters[FLOWS]))
    assert most <= 400
    flows, _, _ = table.finish()
    assert np.count_nonzero(flows.dst_qp) == np.count_nonzero(flows.dst_qp == 0) == messages
    assert flows.octets.sum() == messages * (4096 + 100 + 1000)
