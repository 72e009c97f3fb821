"""Records that are handed out while packets still come: nothing counts twice, nothing is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.aggregation.flow_table import FlowTable
from collectors.columns.record import concatenated
from tests.collectors.builders.packets import ADDRESSES, packets, roce, rows_of, tcp
from tests.collectors.flows.test_rdma_messages import FIRST, LAST, MIDDLE, write

MS, SECOND = 1_000_000, 1_000_000_000


def drained(rows, stops, *, wait_ns=SECOND, **knobs):
    """All records of rows by time, handed out after each of the stops (numbers of rows) and at the end."""
    table = FlowTable(exporters=["leaf0"], addresses=ADDRESSES, horizon_ns=0, **knobs)
    parts, before = [], 0
    for stop in [*sorted(stops), len(rows)]:
        if before < stop:
            parts.append(table.expired(rows[before]["time_ns"], wait_ns=wait_ns)[0])
            table.add("leaf0", packets(rows[before:stop]))
            parts.append(table.expired(rows[stop - 1]["time_ns"] + 1, wait_ns=wait_ns)[0])
        before = max(before, stop)
    flows, _, tally = table.finish()
    return [*parts, flows], tally


def bursts():
    """Bursts of TCP and messages of RDMA, a few seconds apart."""
    rows = []
    for i in range(6):
        begin = i * 3 * SECOND
        rows += [tcp(begin + j * 10_000, 1448, (i * 100 + j) * 1448) for j in range(100)]
        rows += write(begin, 1000 * i, 50, src=2, dst=3)
        rows += [tcp(begin + j * MS, 40, (i * 5 + j) * 40, src=4, dst=5) for j in range(5)]
    return sorted(rows, key=lambda row: row["time_ns"])


def test_records_come_out_once_they_rest_and_are_the_same():
    rows = bursts()
    parts, _ = drained(rows, range(0, len(rows), 50))
    late = drained(rows, [], wait_ns=10**15)[0]
    whole = concatenated(late)
    assert len(drained(rows, [])[0][-1]) < len(late[-1])  # the last call took what had rested
    assert rows_of(concatenated(parts)) == rows_of(whole)
    assert sum(len(part) > 0 for part in parts) > 5


def test_a_record_that_goes_on_after_it_was_handed_out_is_another():
    rows = [tcp(j * 10_000, 1448, j * 1448) for j in range(40)]
    rows += [roce(2 * SECOND, FIRST, 0, dma_length=3 * 4096), roce(4 * SECOND, MIDDLE, 1), roce(6 * SECOND, LAST, 2)]
    parts, _ = drained(rows, range(len(rows)))
    flows = concatenated(parts)
    assert flows.octets[flows.protocol == 6].sum() == 40 * 1448
    assert flows.octets[flows.dst_qp > 0].tolist() == [4096] * 3


def test_what_repeats_a_message_that_is_over_is_counted():
    rows = [*write(0, 0, 3), roce(5 * SECOND, MIDDLE, 1), roce(9 * SECOND, MIDDLE, 1)]
    parts, tally = drained(rows, [3, 4])
    assert concatenated(parts).octets.sum() == 2 * 4096 + 100
    assert tally["repeated after the flow ended"] == 2


@given(
    st.lists(st.tuples(st.sampled_from([0, 10_000, 50 * MS, 2 * SECOND]), st.integers(0, 2), st.integers(0, 20)), min_size=1),
    st.sets(st.integers(0, 100), max_size=8),
)
def test_payload_is_the_same_however_often_records_are_handed_out(steps, stops):
    rows, now, sent = [], 0, [0, 0, 0]
    for gap, lane, again in steps:
        now += gap
        back = min(again // 15 * 1448, sent[lane])
        rows.append(tcp(now, 1448, sent[lane] - back, src=lane, dst=5))
        sent[lane] += 1448 - back
    parts, _ = drained(rows, {stop for stop in stops if stop <= len(rows)})
    whole = concatenated(drained(rows, [], wait_ns=10**15)[0])
    flows = concatenated(parts)
    for name in ("octets", "packets", "retransmits"):
        assert getattr(flows, name).sum() == getattr(whole, name).sum()


@pytest.mark.parametrize("late", [0, 1])
def test_a_switch_that_comes_later_joins_its_sightings(late):
    table = FlowTable(exporters=[], addresses=ADDRESSES)
    seen = [tcp(i * 10_000 + 5 * SECOND * late, 1448, i * 1448) for i in range(20)]
    table.open("leaf0")
    if late:
        table.expired(5 * SECOND, wait_ns=0)
    table.open("spine0")
    table.add("leaf0", packets(seen))
    table.add("spine0", packets([row | {"time_ns": row["time_ns"] + 2000} for row in seen]))
    flows, transits = table.expired(20 * SECOND, wait_ns=0)
    assert flows.octets.tolist() == [20 * 1448]
    assert flows.paths[flows.path[0]] == ("leaf0", "spine0")
    assert transits.delay_ns.tolist() == [2000]
    again = table.expired(21 * SECOND, wait_ns=0)
    assert [len(part) for part in again] == [0, 0]
    assert not np.any(table.finish()[0].octets)
