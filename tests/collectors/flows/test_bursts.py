import numpy as np
import pytest

from collectors.columns.record import ACK, PSH
from collectors.compilation.primitives import compiled
from collectors.flows.bursts import _opens_unit
from collectors.flows.flow_state import FLOW
from collectors.packets.compiled_decoder.frame_decoder import rows_of
from tests.collectors.aggregation.test_flow_table import stream, table
from tests.collectors.builders.packets import packets, tcp


@compiled
def opening(flows, rows, again, found):
    for k in range(len(rows)):
        found[k] = _opens_unit(flows[0], rows[k], again[k])


def openings(rows, batch, again=()):
    """Find the starts of units of one flow in batches; `again`: retransmitted rows."""
    flows, found = np.zeros(1, FLOW), []
    for i in range(0, len(rows), batch):
        part = rows_of(packets(rows[i : i + batch]))
        opens = np.zeros(len(part), np.bool_)
        opening(flows, part, np.isin(np.arange(i, i + len(part)), again), opens)
        found += (i + np.flatnonzero(opens)).tolist()
    return found


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_units_end_with_a_push_a_repeat_and_at_64_kb(batch):
    rows = [tcp(i, 1448, 1448 * i, flags=ACK | (PSH if i in (2, 3) else 0)) for i in range(60)]
    assert openings(rows, batch) == [0, 3, 4, 4 + 45]
    assert openings(rows, batch, again=[10]) == [0, 3, 4, 11, 11 + 45]


def test_a_young_lane_borrows_its_senders_pace():
    """Two lone messages of one segment each, 5 ms apart: a pause on a fast NIC, none on a slow one."""
    for gap, records in ((20_000, 2), (10_000_000, 1)):
        lane = [tcp(10**9, 1448, 0, dst=2), tcp(10**9 + 5_000_000, 1448, 1448, dst=2)]
        flows, _, _ = table({"a": sorted(stream(100, gap=gap) + lane, key=lambda p: p["time_ns"])})
        assert np.count_nonzero(flows.dst == 2) == records


def test_a_pause_before_a_header_is_the_applications():
    """Frames of 62 kB every 25 ms, each announced: single messages, whatever their even spacing suggests."""
    rows, sequence = [], 0
    for i in range(200):
        size = 62_000 if i % 3 else 20_000
        rows += [tcp(i * 25_000_000, 48, sequence), tcp(i * 25_000_000 + 1_700_000, size, sequence + 48)]
        rows += [tcp(i * 25_000_000 + 1_800_000, 4000, sequence + 48 + size)]
        sequence += size + 4048
    flows, _, _ = table({"a": rows})
    assert np.count_nonzero(~flows.control()) == 200


def test_lone_messages_beside_a_bulk_lane_of_their_sender_are_records_of_their_own():
    """More than two blocks of one segment each, 0.4 s apart. Their even gaps do not show the pace of the NIC."""
    small = [tcp(10**9 + i * 400_000_000, 4000, 4000 * i, dst=2) for i in range(40)]
    flows, _, _ = table({"a": stream(1000) + small})
    assert flows.octets[flows.dst == 2].tolist() == [4000] * 40
    assert (flows.end_ns == flows.start_ns)[flows.dst == 2].all()
    assert flows.octets[flows.dst == 1].tolist() == [1000 * 1448]
