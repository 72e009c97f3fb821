import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.aggregation.flow_table import FlowTable, flows_of
from collectors.columns.record import ACK, FIN, PSH, RST, SYN, UDP
from tests.collectors.builders.packets import ADDRESSES, packets, rows_of, tcp
from tests.naive import tcp_records, unique_packets

MS = 1_000_000


def table(captures, *, home=None, batch=None, **knobs):
    """Flows, transits and tally of switch → packets, given in batches of so many packets, the switch behind first."""
    flowtable = FlowTable(exporters=captures, addresses=ADDRESSES, home=home, **knobs)
    flowtable.sightings.least = batch or 1
    left = {name: list(rows) for name, rows in captures.items()}
    while (name := flowtable.behind()) is not None:
        rows, left[name] = left[name][: batch or None], left[name][batch:] if batch else []
        if rows:
            flowtable.add(name, packets(rows))
        else:
            flowtable.close(name)
    return flowtable.finish()


def stream(count, size=1448, gap=10_000, start=0, sequence=0, **more):
    return [tcp(start + i * gap, size, sequence + i * size, **more) for i in range(count)]


def test_a_packet_seen_by_three_switches_counts_once_and_keeps_its_path():
    leaf0 = stream(50)
    later = {
        name: [p | {"time_ns": p["time_ns"] + delay} for p in leaf0] for name, delay in (("spine0", 2000), ("leaf1", 5000))
    }
    flows, transits, tally = table(
        {"leaf1": later["leaf1"], "spine0": later["spine0"], "leaf0": leaf0}, home={ADDRESSES[0]: "leaf0"}
    )
    assert len(flows) == 1
    assert flows.octets.tolist() == [50 * 1448]
    assert flows.paths[flows.path[0]] == ("leaf0", "spine0", "leaf1")
    assert flows.exporters[flows.exporter[0]] == "leaf0"
    assert (flows.start_ns[0], flows.end_ns[0]) == (0, 490_000)
    assert tally["packets seen once"] == 50
    hops = [(transits.exporters[s], transits.exporters[r]) for s, r in zip(transits.sender, transits.receiver, strict=True)]
    assert hops == [("spine0", "leaf1"), ("leaf0", "spine0")] or hops == [("leaf0", "spine0"), ("spine0", "leaf1")]
    assert sorted(transits.delay_ns.tolist()) == sorted(transits.max_delay_ns.tolist()) == [2000, 3000]
    assert transits.packets.tolist() == [50, 50]


@pytest.mark.parametrize("skew", [-300 * MS, 300 * MS])
def test_home_counts_whatever_the_other_clocks_say(skew):
    seen = stream(20)
    spine = [p | {"time_ns": p["time_ns"] + skew} for p in seen]
    flows, transits, tally = table({"spine0": spine, "leaf0": seen}, home={ADDRESSES[0]: "leaf0"}, batch=3)
    assert tally["packets seen once"] == 20
    assert (flows.start_ns.tolist(), flows.end_ns.tolist()) == ([0], [190_000])
    assert transits.delay_ns.tolist() == [skew]


def test_a_packet_its_home_missed_counts_too():
    seen = stream(20)
    spine = [p | {"time_ns": p["time_ns"] + 2000} for p in seen]
    flows, _, tally = table({"spine0": spine, "leaf0": seen[:10]}, home={ADDRESSES[0]: "leaf0"})
    assert tally["packets seen once"] == 20
    assert flows.octets.sum() == 20 * 1448
    assert flows.end_ns.tolist() == [192_000]


def test_packets_of_one_time_stamp_stay_in_the_order_of_the_capture():
    rows = [row | {"time_ns": row["time_ns"] // 100_000 * 100_000} for row in stream(200)]
    for captures in ({"a": rows}, {"b": rows[::2], "a": rows}):
        flows, _, _ = table(captures, home={ADDRESSES[0]: "a"})
        assert (flows.octets.sum(), flows.retransmits.sum()) == (200 * 1448, 0)


def test_equal_packets_match_first_with_first():
    again = [tcp(t, 0, 5, flags=ACK) for t in (0, 1000, 2000)]
    flows, transits, tally = table({"a": again, "b": [p | {"time_ns": p["time_ns"] + 10} for p in again]})
    assert tally["packets seen once"] == tally["acknowledgment only"] == 3
    assert transits.max_delay_ns.tolist() == [10]
    assert len(flows) == 0


def test_sightings_further_apart_than_the_horizon_are_two_packets():
    one = stream(1)
    _, _, tally = table({"a": one, "b": [one[0] | {"time_ns": 2_000 * MS}]})
    assert tally["packets seen once"] == 2


def test_clocks_that_jump_back_lose_nothing():
    before, after = stream(100, start=10**12), stream(100, start=10**10, sequence=10**6)
    flows, _, tally = table({"a": before + after}, batch=10)
    assert flows.octets.sum() == 200 * 1448
    assert tally["clock went back"] > 0
    assert np.all(flows.end_ns - flows.start_ns < 10**9)


def test_no_packets_give_no_records():
    flows, transits, tally = table({"a": [], "b": []})
    assert len(flows) == len(transits) == 0
    assert not tally


@pytest.mark.parametrize("size", [1448, 15928, 65160])
@pytest.mark.parametrize("bit_ns", [100, 3.3, 0.1, 0.0025])  # 10 Mbit/s, 300 Mbit/s, 10 Gbit/s, 400 Gbit/s
def test_messages_are_bursts_at_any_speed_and_segment_size(size, bit_ns):
    message, pause = 30 * 65536, int(max(40 * 65536 * 8 * bit_ns, 10 * MS))
    rows, time, sequence = [], 0, 0
    for _ in range(5):
        time += pause
        for at in range(0, message, size):
            octets = min(size, message - at)
            time += int(octets * 8 * bit_ns) + 1
            rows.append(tcp(time, octets, sequence))
            sequence += octets
    flows, _, _ = table({"a": rows})
    flows = flows.take(~flows.control())
    assert flows.octets.tolist() == [message] * 5
    rate = flows.octets * 8 / flows.busy_ns
    assert np.all(np.abs(rate * bit_ns - 1) < 0.15)


def test_a_link_that_slows_down_ten_times_keeps_its_bursts_and_tells_its_rate():
    fast = stream(400, 15928, 400_000)
    slow = stream(400, 15928, 4_000_000, start=fast[-1]["time_ns"] + 4_000_000, sequence=400 * 15928)
    flows, _, _ = table({"a": fast + slow})
    assert len(flows) <= 20
    late = flows.take(flows.start_ns > fast[-1]["time_ns"] + 100 * MS)
    if len(late):
        assert late.octets.sum() / late.busy_ns.sum() == pytest.approx(15928 / 4e6, rel=0.1)


def test_starvation_is_not_busy_time():
    rows, time = [], 0
    for i in range(300):
        time += 400_000 if i % 4 else 2_500_000  # waits for its own input after every four
        rows.append(tcp(time, 15928, i * 15928))
    flows, _, _ = table({"a": rows})
    assert flows.octets.sum() / flows.busy_ns.sum() == pytest.approx(15928 / 400_000, rel=0.1)


def test_segments_handed_over_at_once_are_cut_like_the_frame_they_were():
    """A NIC sends 44 segments at line rate where the link behind it is slow; PSH is on the last."""
    rows, time, sequence = [], 0, 0
    for _ in range(60):
        time += 6_000_000
        for k in range(44):
            time += 1200
            rows.append(tcp(time, 1448, sequence, flags=ACK | (PSH if k == 43 else 0)))
            sequence += 1448
    flows, _, _ = table({"a": rows})
    assert len(flows) == 1
    assert flows.octets[0] / flows.busy_ns[0] == pytest.approx(44 * 1448 / 6_052_800, rel=0.1)


def test_a_retransmission_is_no_payload_and_an_overlap_counts_once():
    rows = [*stream(10, 1000), tcp(100_000, 1000, 3000), tcp(110_000, 1000, 9500), tcp(120_000, 2, 10_498)]
    flows, _, _ = table({"a": rows})
    assert flows.octets.sum() == 10_500
    assert flows.packets.sum() == 11
    assert flows.retransmits.sum() == 2


def test_sequence_numbers_wrap():
    flows, _, _ = table({"a": stream(20, 1000, sequence=2**32 - 5000)})
    assert (flows.octets.sum(), flows.retransmits.sum()) == (20_000, 0)


def test_a_new_connection_on_the_same_ports_starts_anew():
    syn = tcp(5 * MS, 0, 100, flags=SYN)
    flows, _, _ = table({"a": [*stream(5, 1000, sequence=10**9), syn, *stream(5, 1000, start=6 * MS, sequence=101)]})
    assert (flows.octets.sum(), flows.retransmits.sum()) == (10_000, 0)


def test_control_segments_and_marks_are_records_of_their_own():
    rows = [
        tcp(0, 0, 9, flags=SYN),
        tcp(10, 48, 10),
        tcp(20, 48, 58),
        tcp(30, 0, 106, flags=ACK),
        tcp(40, 0, 106, flags=FIN | ACK),
    ]
    flows, _, tally = table({"a": [*rows, tcp(50, 0, 107, flags=RST)]})
    assert flows.octets.tolist() == [0, 48, 48, 0, 0]
    assert flows.messages.tolist() == [0, 1, 1, 0, 0]
    assert flows.start_ns[flows.tcp_flags & (FIN | RST) > 0].tolist() == [40, 50]
    assert flows.control().all()
    assert tally["acknowledgment only"] == 1


def test_the_short_rest_of_a_message_belongs_to_it():
    rows = [*stream(3, 1448, flags=ACK), tcp(30_000, 100, 3 * 1448), tcp(40_000, 48, 3 * 1448 + 100)]
    flows, _, _ = table({"a": rows})
    assert sorted(flows.octets.tolist()) == [48, 3 * 1448 + 100]


def test_udp_has_no_sequence():
    flows, _, _ = table(
        {"a": [p | {"protocol": UDP, "tcp_flags": 0, "sequence": 0, "ip_id": i} for i, p in enumerate(stream(20))]}
    )
    assert flows.octets.tolist() == [20 * 1448]


def test_an_active_timeout_ends_records():
    flows, _, _ = table({"a": stream(100, gap=100_000)}, active_ns=MS)
    assert len(flows) == 10
    assert flows.octets.sum() == 100 * 1448


def test_flows_of_reads_captures_side_by_side():
    rows = stream(500)
    split = [packets(rows[i : i + 50]) for i in range(0, 500, 50)]
    flows, _, tally = flows_of({"a": split, "b": split[:2]}, ADDRESSES)
    assert flows.octets.sum() == 500 * 1448
    assert tally["packets seen once"] == 500


@pytest.mark.parametrize("size", [700, 100])
def test_many_short_connections_are_forgotten_but_not_lost(size):
    rows = [tcp(i * 10 * MS, size, 5, src_port=i % 60_000, ip_id=i // 60_000) for i in range(2000)]
    flowtable = FlowTable(exporters=["a"], addresses=ADDRESSES, idle_ns=1000 * MS)
    flowtable.sightings.least = 1
    for i in range(0, 2000, 100):
        flowtable.many = 200
        flowtable.add("a", packets(rows[i : i + 100]))
        assert flowtable.live < 300
    flows, _, _ = flowtable.finish()
    assert flows.octets.tolist() == [size] * 2000


@st.composite
def traffic(draw):
    """Captures of two leaves and a spine: connections with bulk, control, retransmissions, loss of sightings, equal packets."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    size, time, rows = draw(st.sampled_from([600, 1448, 20_000])), 10**9, []
    sequence = {(s, d): rng.randrange(2**32) for s in range(3) for d in range(3)}
    for _ in range(draw(st.integers(1, 150))):
        src, dst = rng.sample(range(3), 2)
        kind = rng.choices(["bulk", "control", "ack", "again", "mark", "udp"], [8, 4, 3, 1, 0.3, 1])[0]
        at = sequence[src, dst]
        if kind in ("bulk", "control"):
            for _ in range(rng.choice([1, 3, 30]) if kind == "bulk" else 1):
                octets = size if kind == "bulk" else rng.choice([1, 48, 256])
                time += int(octets * rng.choice([0.8, 28, 28, 28, 100]))
                rows.append(tcp(time, octets, at, src=src, dst=dst, flags=ACK | rng.choice([0, PSH])))
                at += octets
            sequence[src, dst] = at
        elif kind == "again":
            rows.append(tcp(time, size, at - rng.randrange(2 * size), src=src, dst=dst))
        elif kind == "udp":
            rows.append(tcp(time, size, src=src, dst=dst, flags=0, protocol=UDP))
        else:
            rows.append(tcp(time, 0, at, src=src, dst=dst, flags=ACK if kind == "ack" else rng.choice([SYN, FIN, RST])))
        time += rng.choice([1000, 10_000, 300_000, 5 * MS, 200 * MS])
    leaf = {0: "leaf0", 1: "leaf0", 2: "leaf1"}
    captures = {"leaf0": [], "leaf1": [], "spine0": []}
    for p in rows:
        hops = [leaf[p["src"]]] + (["spine0", leaf[p["dst"]]] if leaf[p["src"]] != leaf[p["dst"]] else [])
        for i, name in enumerate(hops):
            if rng.random() > 0.03:
                captures[name].append(p | {"time_ns": p["time_ns"] + i * rng.choice([2000, 2000, 30 * MS])})
    for name in captures:
        captures[name].sort(key=lambda p: p["time_ns"])
    return captures


HOME = {ADDRESSES[0]: "leaf0", ADDRESSES[1]: "leaf0", ADDRESSES[2]: "leaf1"}


@settings(max_examples=60)
@given(traffic(), st.integers(1, 60))
def test_batches_do_not_matter(captures, batch):
    whole, part = table(captures, home=HOME), table(captures, home=HOME, batch=batch)
    assert rows_of(whole[0]) == rows_of(part[0])
    assert whole[2] == part[2]
    for name in ("start_ns", "sender", "receiver", "packets", "delay_ns", "max_delay_ns"):
        assert getattr(whole[1], name).tolist() == getattr(part[1], name).tolist()


@settings(max_examples=60)
@given(traffic())
def test_the_slow_twin_agrees(captures):
    flows, _, tally = table(captures, home=HOME, batch=40)
    unique = unique_packets(captures, {0: "leaf0", 1: "leaf0", 2: "leaf1"}, 10**9)
    records, acknowledgments = tcp_records(unique)
    assert tally["packets seen once"] == len(unique)
    assert tally["acknowledgment only"] == acknowledgments
    assert flows.octets.sum() == sum(r["octets"] for r in records)
    assert flows.retransmits.sum() == sum(r["retransmits"] for r in records)
    names = (
        "start_ns",
        "end_ns",
        "src",
        "dst",
        "src_port",
        "dst_port",
        "protocol",
        "octets",
        "packets",
        "messages",
        "retransmits",
    )
    columns = [getattr(flows, name).tolist() for name in (*names, "tcp_flags", "path")]
    fast = [(*row, flows.paths[path]) for *row, path in zip(*columns, strict=True)]
    names = ("octets", "packets", "messages", "retransmits", "flags", "path")
    slow = [(r["start"], r["end"], *r["key"], *(r[name] for name in names)) for r in records]
    # Young lanes and those of small units borrow their pace, the twin's do not.
    young = {r["key"] for r in records if r.get("units", 5) < 5 or r.get("borrows")}
    assert sorted(r for r in fast if r[2:7] not in young) == sorted(r for r in slow if r[2:7] not in young)
