"""Runs are there, whatever becomes of them; that they come to the same as packets one by one, `test_straight` says."""

import numpy as np
import pytest

from benchmarks.mirror import Mirror, Mix
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import FlowTable
from collectors.flows.flow_state import ANSWERS, FLOWS, LANE, REQUESTS
from collectors.packets.frame_batch import Batch
from collectors.packets.packet_signs import NOTHING


def fed(how, packets=4000):
    """A table that has seen packets, whose records are not yet complete."""
    mirror, decoder = Mirror(2, Mix(queue_pairs=8, connections=2, active=8, tcp=0.5)), Decoder()
    mirror.length[:] = 1024
    time_ns, octets, captured, wire = mirror.some(packets)
    rows = zip(time_ns.tolist(), octets, captured.tolist(), wire.tolist(), strict=True)
    table = FlowTable(exporters=["s"], addresses=decoder.endpoints)
    table.add("s", getattr(decoder, how)(Batch.of((t, row[:n].tobytes(), w) for t, row, n, w in rows)))
    return table


@pytest.mark.parametrize("kinds", [(LANE,), (REQUESTS, ANSWERS)])
def test_busy_flows_are_in_a_run(kinds):
    flows = (table := fed("later")).table.flows[: table.table.counters[FLOWS]]
    busy = flows[np.isin(flows["kind"], kinds)]
    running = busy["expects"] != NOTHING
    assert running.sum() > len(busy) / 3
    assert (busy["ready"][running] >= busy["high"][running]).all()


def test_rows_make_no_runs():
    flows = (table := fed("decode")).table.flows[: table.table.counters[FLOWS]]
    assert (flows["expects"] == NOTHING).all()


def test_records_are_complete_when_they_are_asked_for():
    (one, _, tally), (other, _, counts) = fed("later").finish(), fed("decode").finish()
    assert one.octets.tolist() == other.octets.tolist()
    assert one.packets.tolist() == other.packets.tolist()
    assert one.end_ns.tolist() == other.end_ns.tolist()
    assert tally == counts
