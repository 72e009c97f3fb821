import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.aggregation.flow_table import FlowTable
from collectors.flows.flow_state import FLOWS
from tests.collectors.builders.packets import ADDRESSES, packets, roce, rows_of

FIRST, MIDDLE, LAST, LAST_IMMEDIATE, ONLY, READ_REQUEST, READ_FIRST, READ_LAST, ACKNOWLEDGE, CNP = (
    6,
    7,
    8,
    9,
    10,
    12,
    13,
    15,
    17,
    129,
)


def records(rows, batch=None, least=1, **knobs):
    table = FlowTable(exporters=["leaf0"], addresses=ADDRESSES, **knobs)
    table.sightings.least = least
    for i in range(0, len(rows), batch or len(rows)):
        table.add("leaf0", packets(rows[i : i + (batch or len(rows))]))
    flows, _, tally = table.finish()
    return flows, tally


def write(time, psn, count, *, last=LAST, middles=True, **more):
    """Build an RDMA WRITE of so many packets of 4096 octets, the last with 100."""
    size = (count - 1) * 4096 + 100
    rows = [roce(time, FIRST, psn, dma_length=size, **more)]
    rows += [roce(time + 1000 * i, MIDDLE, psn + i, **more) for i in range(1, count - 1)] if middles else []
    return [*rows, roce(time + 1000 * (count - 1), last, psn + count - 1, 100, **more)]


def test_a_message_is_a_record_whether_or_not_its_middles_were_captured():
    for middles in (True, False):
        flows, _ = records(write(0, 2**24 - 5, 10, middles=middles) + write(50_000, 5, 3, last=LAST_IMMEDIATE, middles=middles))
        assert flows.octets.tolist() == [9 * 4096 + 100, 2 * 4096 + 100]
        assert flows.packets.tolist() == [10, 3]
        assert flows.messages.tolist() == [1, 1]
        assert flows.busy_ns.tolist() == [9000, 2000]
        assert (flows.src_port.tolist(), flows.dst_port.tolist(), flows.dst_qp.tolist()) == ([0, 0], [4791] * 2, [7, 7])
        assert not flows.control().any()


def test_only_messages_acknowledgments_and_reads():
    rows = [
        roce(0, ONLY, 1, 1000, dma_length=1000),
        roce(10, ACKNOWLEDGE, 1, 0, src=1, dst=0, qp=9),
        roce(20, READ_REQUEST, 2, 0, dma_length=8292),
        roce(30, READ_FIRST, 2, src=1, dst=0, qp=9),
        roce(40, READ_LAST, 4, 100, src=1, dst=0, qp=9),
    ]
    flows, tally = records(rows)
    assert flows.octets.tolist() == [1000, 0, 8292]
    assert flows.packets.tolist() == [1, 0, 3]
    assert flows.control().tolist() == [False, True, False]
    assert tally["acknowledgment only"] == 1


def test_what_was_sent_again_is_no_payload():
    rows = write(0, 0, 10)
    again = [row | {"time_ns": row["time_ns"] + 20_000, "ip_id": 5} for row in rows[4:]]
    flows, _ = records(rows + again + write(60_000, 10, 2))
    assert flows.octets.tolist() == [9 * 4096 + 100, 4096 + 100]
    assert flows.retransmits.tolist() == [6, 0]
    assert flows.end_ns.tolist() == [9000, 61_000]


def test_messages_that_overtake_each_other_keep_their_packets():
    a, b, c = (write(t, psn, 10, middles=False) for t, psn in ((0, 0), (100, 10), (200, 20)))
    for batch in (1, 2, 6):
        flows, _ = records([a[0], b[0], c[0], a[1], c[1], b[1]], batch)
        assert flows.octets.tolist() == [9 * 4096 + 100] * 3
        assert (flows.end_ns - flows.start_ns).tolist() == [9000] * 3
        assert flows.retransmits.sum() == 0


@pytest.mark.parametrize("begin", [0, 2**24 - 5, 2**23])
@pytest.mark.parametrize(
    "order",
    [
        (0, 2, 1, 4, 3, 5, 8, 6, 7, 9),
        (0, 4, 3, 2, 1, 9, 8, 7, 6, 5),
        (3, 0, 1, 2, 4, 7, 5, 6, 8, 9),
        (1, 0, 3, 2, 5, 4, 7, 6, 9, 8),
        (5, 0, 6, 1, 7, 2, 8, 3, 9, 4),
    ],
)
def test_packets_that_were_overtaken_are_no_retransmissions(begin, order):
    """Two messages of four packets, each with a signal after it, sprayed over several paths: each PSN comes once."""
    sent = []
    for psn in (0, 5):
        sent += write(0, begin + psn, 4)
        sent.append(roce(0, ONLY, begin + psn + 4, 0, dma_length=0))
    rows = [sent[k] | {"time_ns": i * 1000} for i, k in enumerate(order)]
    flows, _ = records(write(-(10**6), begin - 3, 3) + rows)
    assert flows.retransmits.sum() == 0
    assert flows.octets.sum() == 2 * (3 * 4096 + 100) + 2 * 4096 + 100
    assert flows.messages.sum() == 5
    again = [row | {"time_ns": row["time_ns"] + 20_000, "ip_id": 5} for row in rows]
    flows, _ = records(write(-(10**6), begin - 3, 3) + rows + again)
    assert flows.retransmits.sum() == 10
    assert flows.octets.sum() == 2 * (3 * 4096 + 100) + 2 * 4096 + 100


@pytest.mark.parametrize("seed", range(20))
def test_spraying_over_paths_of_different_length(seed):
    """Packets of three queue pairs arrive up to 200 places late: all octets count, nothing is retransmitted, until some is."""
    rng = random.Random(seed)
    rows, psn = [], [2**24 - 100, 0, 77]
    for k in range(60):
        qp, count = rng.randrange(3), rng.choice([2, 5, 40])
        rows += write(k * 20_000, psn[qp], count, qp=qp)
        psn[qp] += count
    size = sum(row["octets"] for row in rows)
    sprayed = [row | {"time_ns": row["time_ns"] + rng.choice([0, 0, 3000, 9000])} for row in rows]
    sprayed.sort(key=lambda row: row["time_ns"])
    flows, _ = records(sprayed)
    assert flows.retransmits.sum() == 0
    assert flows.octets.sum() == size
    some = sorted(rng.sample(range(len(sprayed)), 30))
    again = [sprayed[k] | {"time_ns": sprayed[-1]["time_ns"] + 1 + i, "ip_id": 9} for i, k in enumerate(some)]
    flows, _ = records(sprayed + again)
    assert flows.octets.sum() == size
    assert flows.retransmits.sum() == 30


@pytest.mark.parametrize("lag", [100, 1100, 3500])
def test_packets_that_a_mirror_saw_twice_are_no_retransmissions(lag):
    """A copy has the same IP identification; a retransmission has another."""
    once = [row | {"ip_id": 10 + k} for k, row in enumerate([*write(0, 0, 10), *write(20_000, 10, 2), *write(30_000, 12, 5)])]
    twice = [row | {"time_ns": row["time_ns"] + lag} for row in once]
    flows, tally = records(sorted(once + twice, key=lambda row: row["time_ns"]))
    assert flows.octets.tolist() == [9 * 4096 + 100, 4096 + 100, 4 * 4096 + 100]
    assert (flows.retransmits.sum(), tally["seen twice by a mirror"]) == (0, 17)
    for other in (lambda row: row["ip_id"] + 500, lambda _: 0, lambda _: 70_000):
        known = [row | {"ip_id": other(row) if other(row) in (0, 70_000) else row["ip_id"]} for row in once]
        again = [row | {"ip_id": other(row)} for row in twice]
        flows, _ = records(sorted(known + again, key=lambda row: row["time_ns"]))
        assert flows.octets.sum() == 14 * 4096 + 300
        assert flows.retransmits.sum() == 17


def test_lost_ends_and_a_capture_that_starts_and_stops_in_a_message():
    rows = [*write(0, 100, 5)[3:], *write(10_000, 105, 5)[:-1], *write(20_000, 110, 5)[1:], *write(30_000, 115, 5)[:2]]
    flows, _ = records(rows)
    assert flows.octets.tolist() == [4096 + 100, 4 * 4096 + 100, 3 * 4096 + 100, 2 * 4096]
    assert flows.packets.tolist() == [2, 5, 4, 2]


def test_queue_pairs_are_distinguished():
    rows = sorted(write(0, 0, 5) + write(500, 0, 5, qp=8), key=lambda row: row["time_ns"])
    flows, _ = records(rows)
    assert flows.dst_qp.tolist() == [7, 8]
    assert flows.packets.tolist() == [5, 5]


def test_congestion_notifications_are_counted_by_time_bin():
    flows, _ = records([roce(t, CNP, 0, 0, src=1, dst=0, qp=3) for t in (0, 10, 20, 60_000_000)])
    assert flows.cnp.tolist() == [3, 1]
    assert flows.octets.tolist() == [0, 0]


def test_a_queue_pair_that_rested_and_one_with_new_numbers_go_on():
    flows, _ = records(write(0, 5_000_000, 3) + write(10**6, 100, 3))
    assert (flows.packets.tolist(), flows.retransmits.sum()) == ([3, 3], 0)
    table = FlowTable(exporters=["leaf0"], addresses=ADDRESSES, idle_ns=10**9)
    for i in range(10):
        table.many = 0
        table.add("leaf0", packets(write(i * 10**10, 0, 3, qp=i)))
    assert table.table.counters[FLOWS] < 10
    assert table.finish()[0].packets.tolist() == [3] * 10


@st.composite
def traffic(draw):
    rng = random.Random(draw(st.integers(0, 2**32)))
    rows, psn, time = [], [rng.randrange(2**24) for _ in range(3)], 0
    for _ in range(draw(st.integers(1, 30))):
        qp, count = rng.randrange(3), rng.choice([2, 3, 20])
        more = {"qp": qp, "middles": rng.random() < 0.5}
        message = write(time, psn[qp], count, **more)
        if rng.random() < 0.3:
            message += [
                row | {"time_ns": row["time_ns"] + 30_000, "ip_id": 1} for row in message[rng.randrange(len(message)) :]
            ]
        rows += [row for row in message if rng.random() > 0.05]
        psn[qp] += count
        time += rng.choice([0, 1500, 100_000])
    return sorted(rows, key=lambda row: row["time_ns"])


@settings(max_examples=60)
@given(traffic(), st.integers(1, 40))
def test_batches_do_not_matter(rows, batch):
    if rows:
        assert rows_of(records(rows)[0]) == rows_of(records(rows, batch)[0])


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(2, 20), st.integers(0, 20)), min_size=1, max_size=12), st.integers(1, 40)
)
def test_octets_are_conserved(messages, batch):
    """Complete messages of three QPs, each partly retransmitted: every PSN's payload counts once."""
    rows, psn, time = [], [2**24 - 30, 0, 500], 0
    for qp, count, again in messages:
        message = write(time, psn[qp], count, qp=qp)
        rows += message + [row | {"time_ns": row["time_ns"] + 30_000, "ip_id": 1} for row in message[again:]]
        psn[qp] += count
        time += 100_000
    rows.sort(key=lambda row: row["time_ns"])
    flows, _ = records(rows, batch)
    unique = {(row["dst_qp"], row["sequence"]): row["octets"] for row in rows}
    assert flows.octets.sum() == sum(unique.values())
    assert flows.packets.sum() == len(unique)
    assert flows.retransmits.sum() == len(rows) - len(unique)
    assert len(flows) == len(messages)
