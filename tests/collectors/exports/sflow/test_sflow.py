import random
import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.exports.counter_names import DATAGRAMS, RECORDS, CounterTable
from collectors.exports.datagrams import Datagrams
from collectors.exports.sflow.sflow import SflowDecoder, warm
from tests.collectors.builders import exports as x
from tests.collectors.builders import frames
from tests.collectors.builders.exports import (
    A,
    B,
    batch,
    check_laws,
    counters,
    drop_sample,
    flow_record,
    flow_sample,
    raw_header,
    row,
    rows,
    sflow,
)
from tests.collectors.builders.tunnelled import LABEL, TUNNELLED

WRITE = frames.ethernet(frames.ipv4(frames.roce(10, frames.reth(64) + b"x" * 64, dst_qp=0x77), 17, tos=3), tags=(0x8100,))


def decoded(*payloads):
    decoder = SflowDecoder()
    flows = decoder.decode(batch(*payloads))
    check_laws(decoder.tally, decoder.exporters)
    return flows, decoder


@pytest.mark.parametrize("name", ["MPLS", "IPIP", "Geneve, options", "VN-Tag", "GTP-U", "SRv6"])
def test_a_sampled_header_is_decoded_inside_of_tunnels(name):
    flows, _ = decoded(sflow(flow_sample(raw_header(TUNNELLED[name]))))
    assert (row(flows)["src"], row(flows)["dst_port"], row(flows)["octets"]) == ("10.0.0.1", 50_000, 77)


def test_a_sampled_header_of_mpls():
    labelled = bytes(LABEL) + WRITE[18:]
    flows, _ = decoded(sflow(flow_sample(raw_header(labelled, protocol=13))))
    assert (row(flows)["dst_qp"], row(flows)["octets"]) == (0x77, 64)


def test_what_is_sampled_and_cannot_be_read_is_named():
    _, decoder = decoded(sflow(flow_sample(raw_header(frames.ethernet(bytes(40), 0x8847)))))
    assert decoder.tally["frames: not IP: MPLS (EtherType 0x8847)"] == 0
    _, decoder = decoded(sflow(flow_sample(raw_header(frames.ethernet(b"\0\0\x11\x40\x10" + bytes(40), 0x8847)))))
    assert decoder.tally["frames: not IP: MPLS (EtherType 0x8847)"] == 1


@pytest.mark.parametrize("expanded", [False, True])
@pytest.mark.parametrize("agent", ["10.9.9.9", "fd00::9"])
def test_a_sampled_header_is_decoded_down_to_the_bth(expanded, agent):
    flows, decoder = decoded(sflow(flow_sample(raw_header(WRITE[:100]), expanded=expanded), agent=agent))
    now = x.WHEN * 10**9
    assert row(flows) == {
        "start_ns": now,
        "end_ns": now,
        "src": "10.0.0.1",
        "dst": "10.0.0.2",
        "src_port": 0,
        "dst_port": 4791,
        "protocol": 17,
        "dst_qp": 0x77,
        "octets": 64,
        "packets": 1,
        "ecn": 1,
        "cnp": 0,
        "tcp_flags": 0,
        "sampling_rate": 1000,
        "exporter": agent,
    }
    assert list(decoder.exporters) == [agent]


@pytest.mark.parametrize(
    ("protocol", "frame"), [(11, frames.ipv4(frames.tcp(b"x" * 9))), (12, frames.ipv6(frames.tcp(b"x" * 9)))]
)
def test_headers_without_a_link_layer(protocol, frame):
    flows, _ = decoded(sflow(flow_sample(raw_header(frame, protocol=protocol))))
    assert (row(flows)["octets"], row(flows)["dst_port"]) == (9, 2000)


def test_addresses_and_ports_as_the_switch_tells_them():
    four = struct.pack(">II", 1500, 6) + x.ip("10.0.0.1") + x.ip("10.0.0.2") + struct.pack(">IIII", 1000, 2000, 0x18, 0)
    six = struct.pack(">II", 1400, 17) + x.ip("fd00::1") + x.ip("fd00::2") + struct.pack(">IIII", 3000, 4000, 0, 0)
    flows, _ = decoded(sflow(flow_sample(flow_record(3, four)), flow_sample(flow_record(4, six), rate=5)))
    first, second = (dict(zip(x.KEPT, r, strict=True)) for r in rows(flows))
    assert (first["src"], first["dst_port"], first["octets"], first["tcp_flags"]) == ("10.0.0.1", 2000, 1500, 0x18)
    assert (second["dst"], second["src_port"], second["octets"], second["sampling_rate"]) == ("fd00::2", 3000, 1400, 5)
    unknown, _ = decoded(sflow(flow_sample(flow_record(3, four), rate=0)))
    assert unknown.sampling_rate.tolist() == [0]
    both, _ = decoded(sflow(flow_sample(flow_record(3, four), raw_header(WRITE))))
    assert row(both)["dst_qp"] == 0x77  # the header knows more


def test_the_time_a_switch_says_it_saw_a_packet():
    flows, _ = decoded(sflow(flow_sample(raw_header(WRITE), flow_record(1043, struct.pack(">Q", 1234567890123456789)))))
    assert row(flows)["start_ns"] == 1234567890123456789


def test_transit_delay_and_queue_depth_are_kept():
    told = (
        flow_record(1036, struct.pack(">I", 5)),
        flow_record(1039, struct.pack(">I", 900)),
        flow_record(1040, struct.pack(">I", 7000)),
    )
    arp = raw_header(frames.ethernet(bytes(40), 0x0806))
    flows, decoder = decoded(
        sflow(flow_sample(raw_header(WRITE), *told), flow_sample(arp, told[1]), flow_sample(raw_header(WRITE)))
    )
    (delays,) = decoder.take_evidence().delays
    assert delays.delay_ns.tolist() == [900, 900]
    assert (delays.depth.tolist(), delays.queue.tolist(), delays.dst_qp.tolist()) == ([7000, -1], [5, -1], [0x77, 0])
    assert (delays.in_interface.tolist(), delays.out_interface.tolist()) == ([3, 3], [4, 4])
    assert [delays.endpoints[code] if code >= 0 else None for code in delays.dst] == ["10.0.0.2", None]
    assert (len(flows), decoder.tally["records dropped: frame not decoded"]) == (2, 1)
    assert len(decoder.take_evidence()) == 0


def test_drops_and_their_reasons_are_kept_and_are_no_flows():
    flows, decoder = decoded(
        sflow(drop_sample(raw_header(WRITE), flow_record(1036, struct.pack(">I", 5))), drop_sample(reason=262))
    )
    (drops,) = decoder.take_evidence().drops
    assert (drops.reason.tolist(), drops.suppressed.tolist(), drops.queue.tolist()) == ([259, 262], [17, 17], [5, -1])
    assert drops.endpoints[drops.src[0]] == "10.0.0.1"
    assert (len(flows), decoder.tally["records merged"]) == (0, 2)


@pytest.mark.parametrize("expanded", [False, True])
def test_counters_of_interfaces(expanded):
    flows, decoder = decoded(sflow(counters(7, expanded=expanded)))
    (told,) = decoder.take_evidence().counters
    got = {name: getattr(told, name).tolist() for name in ("interface", "speed", "up", "in_octets", "out_octets")}
    assert got == {"interface": [7], "speed": [400 * 10**9], "up": [1], "in_octets": [1 << 40], "out_octets": [(1 << 40) + 1]}
    assert (told.in_packets.tolist(), told.in_discards.tolist(), told.in_errors.tolist()) == ([60], [4], [5])
    assert (told.out_packets.tolist(), told.out_discards.tolist()) == ([32], [6])  # broadcasts are not counted there
    assert len(flows) == 0


def test_an_interface_by_which_one_address_comes_has_a_neighbour():
    def sampled(interface, src, *, agent="10.9.9.9", protocol=6):
        packet = raw_header(frames.ethernet(frames.ipv4(frames.tcp(b"x"), protocol, src=src)))
        return sflow(flow_record(1, struct.pack(">IIIIIIII", 1, 3, 9, 9, 0, interface, 4, 1) + packet), agent=agent)

    came = [(7, "10.0.0.1"), (7, "10.0.0.1"), (8, "10.0.0.2"), (9, "10.0.0.1"), (9, "10.0.0.3"), (0, "10.0.0.4")]
    decoder = SflowDecoder()
    for some in (came[:3], came[3:]):
        decoder.decode(batch(*(sampled(*one) for one in some), sampled(7, "10.0.0.9", agent="10.9.9.8")))
    decoder.decode(batch(sampled(8, "0.0.0.0", protocol=2)))  # no traffic
    decoder.decode(batch(sflow(*map(counters, (7, 8, 9, 6))), sflow(counters(7), agent="10.9.9.8")))
    (told,) = decoder.take_evidence().counters
    names = (*told.endpoints, None)
    assert [names[code] for code in told.neighbour] == ["10.0.0.1", "10.0.0.2", None, None, "10.0.0.9"]


@pytest.mark.parametrize(
    ("payload", "datagrams", "records"),
    [
        (b"", "truncated header", {}),
        (struct.pack(">II", 4, 1) + bytes(40), "unknown version", {}),
        (struct.pack(">II", 5, 3) + bytes(40), "bad agent address", {}),
        (struct.pack(">II", 5, 2) + bytes(20), "truncated header", {}),
        (sflow(flow_sample(raw_header(WRITE)))[:-4], "cut off", {"cut off": 1}),
        (sflow(counters(), count=2), "cut off", {"cut off": 1}),
        (sflow(flow_record(1, bytes(31))), "bad sample", {"bad sample": 1}),
        (sflow(flow_sample(struct.pack(">II", 1, 5000))), "bad sample", {"bad sample": 1}),
        (sflow(flow_sample(flow_record(1, struct.pack(">IIII", 1, 90, 4, 80) + bytes(40)))), "bad sample", {"bad sample": 1}),
        (sflow(flow_sample(flow_record(1039, b"abc"))), "bad sample", {"bad sample": 1}),
    ],
)
def test_bad_datagrams_are_errors_by_reason(payload, datagrams, records):
    _, decoder = decoded(payload)
    assert CounterTable.of(decoder.tally, DATAGRAMS).errors == {datagrams: 1}
    assert CounterTable.of(decoder.tally, RECORDS).errors == records


def test_other_samples_and_samples_without_a_packet_are_dropped():
    _, decoder = decoded(sflow(flow_record(4300 << 12 | 1002, bytes(20)), flow_sample(flow_record(1001, bytes(16)))))
    assert CounterTable.of(decoder.tally, RECORDS).dropped == {"unknown type of sample": 1, "no packet in the sample": 1}


def test_gaps_are_losses_of_each_agent_and_sender():
    decoder = SflowDecoder()
    decoder.decode(batch(*(sflow(sequence=n) for n in (1, 2, 5))))
    decoder.decode(
        Datagrams.of([(B, sflow(sequence=900), 1), (B, sflow(sequence=901), 1)])
    )  # another who says he is that agent
    decoder.decode(batch(sflow(sequence=6)))
    assert decoder.tally["datagrams lost"] == decoder.exporters["10.9.9.9"]["datagrams lost"] == 2


def test_agents_and_evidence_are_bounded():
    decoder = SflowDecoder(most_exporters=3, most_evidence=2)
    crowd = [sflow(counters(), agent=f"10.0.1.{i}") for i in range(5)]
    decoder.decode(batch(*crowd))
    assert decoder.tally["datagrams error: too many exporters"] == 2
    assert (len(decoder.exporters), decoder.tally["evidence rows dropped"]) == (3, 3)
    check_laws(decoder.tally, decoder.exporters)
    decoder.decode(batch(sflow(agent="10.0.2.1")))
    assert decoder.tally["exporters forgotten"] == 1


def traffic(chance, agent):
    good = [
        sflow(flow_sample(raw_header(WRITE)), counters(), sequence=3, agent=agent),
        sflow(flow_sample(raw_header(WRITE[:50]), expanded=True), drop_sample(raw_header(WRITE)), agent=agent),
        sflow(flow_record(99, bytes(8)), flow_sample(), agent=agent),
        sflow(*(flow_sample(raw_header(frame)) for _, frame in frames.SAMPLES[:20]), agent=agent),
    ]
    chosen = [chance.choice(good) for _ in range(chance.randrange(8))]
    for i, payload in enumerate(chosen):
        if chance.random() < 0.2:
            chosen[i] = payload[: chance.randrange(len(payload))]
        elif chance.random() < 0.2:
            spoiled = bytearray(payload)
            spoiled[chance.randrange(28, len(spoiled))] = chance.randrange(256)
            chosen[i] = bytes(spoiled)
    return chosen


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_the_laws_hold_and_agents_do_not_disturb_one_another(seed):
    chance = random.Random(seed)
    mixed = [(who, payload, 10**9) for who, agent in ((A, "10.9.9.1"), (B, "fd00::9")) for payload in traffic(chance, agent)]
    chance.shuffle(mixed)
    whole, singly = SflowDecoder(), SflowDecoder()
    flows = rows(whole.decode(Datagrams.of(mixed)))
    check_laws(whole.tally, whole.exporters)
    assert whole.tally["datagrams received"] == len(mixed)
    assert sorted(r for datagram in mixed for r in rows(singly.decode(Datagrams.of([datagram])))) == flows
    assert +singly.tally == +whole.tally
    alone = SflowDecoder()
    mine = rows(alone.decode(Datagrams.of([datagram for datagram in mixed if datagram[0] == A])))
    assert mine == [r for r in flows if r[-1] == "10.9.9.1"]
    assert replace(CounterTable.of(alone.tally, RECORDS)).undelivered == 0


@given(
    st.lists(st.binary(max_size=120).map(lambda b: bytes((0, 0, 0, 5, 0, 0, 0, 1)) + b) | st.binary(max_size=60), max_size=4)
)
def test_arbitrary_octets(payloads):
    decoded(*payloads)


def test_what_it_is_warmed_with_is_sound(monkeypatch):
    made = []
    decode = SflowDecoder.decode
    monkeypatch.setattr(SflowDecoder, "decode", lambda self, datagrams: made.append(self) or decode(self, datagrams))
    warm()
    (decoder,) = made
    assert decoder.tally["datagrams decoded"] == 1
    assert decoder.tally["records emitted"] == 0
