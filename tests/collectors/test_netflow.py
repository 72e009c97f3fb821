import random
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.datagrams import Datagrams
from collectors.elements import DEFAULT, parse
from collectors.exporters import Exporters
from collectors.ledger import DATAGRAMS, RECORDS, Ledger
from collectors.netflow import NetflowDecoder
from collectors.waiting import WaitingRoom
from tests.collectors import exports as x
from tests.collectors import frames
from tests.collectors.exports import A, B, batch, check_laws, ipfix, options_template, record, row, rows, set_, template, v5, v9


def decoded(*payloads, **options):
    decoder = NetflowDecoder(**options)
    flows = decoder.decode(batch(*payloads))
    check_laws(decoder.tally, decoder.exporters)
    return flows, decoder


def test_version_5_with_times_since_the_exporter_booted():
    flows, _ = decoded(v5(x.v5_record(), rate=100))
    sent = x.WHEN * 10**9 + 500
    assert row(flows) == {
        "start_ns": sent - 10 * 10**9,
        "end_ns": sent - 5 * 10**9,
        "src": "10.0.0.1",
        "dst": "10.0.0.2",
        "src_port": 40000,
        "dst_port": 4791,
        "protocol": 6,
        "dst_qp": 0,
        "octets": 15000,
        "packets": 10,
        "ecn": 0,
        "cnp": 0,
        "tcp_flags": 0x1B,
        "sampling_rate": 100,
        "exporter": A,
    }


def test_the_uptime_may_have_wrapped_since_the_flow_began():
    flows, _ = decoded(v5(x.v5_record(first=2**32 - 2000, last=1000), uptime=3000))
    got = row(flows)
    assert (got["start_ns"], got["end_ns"]) == (x.WHEN * 10**9 + 500 - 5 * 10**9, x.WHEN * 10**9 + 500 - 2 * 10**9)


@pytest.mark.parametrize(("message", "version"), [(ipfix, 10), (v9, 9)])
def test_records_of_a_template(message, version):
    flows, decoder = decoded(message(template(300, version=version), set_(300, record(0) + record(1) + bytes(3))))
    assert len(flows) == 2
    got = dict(zip(x.KEPT, rows(flows)[1], strict=True))
    assert (got["src"], got["dst"], got["octets"], got["packets"]) == ("10.0.0.1", "10.0.0.2", 1001, 10)
    assert (got["start_ns"], got["end_ns"]) == ((x.WHEN - 2) * 10**9, (x.WHEN - 1) * 10**9)
    assert decoder.tally["records decoded"] == 2


def test_data_before_its_template_waits_across_batches_and_within_one():
    decoder = NetflowDecoder()
    early = ipfix(set_(300, record(1)), sequence=0)
    assert len(decoder.decode(batch(early))) == 0
    assert Ledger.of(decoder.tally, DATAGRAMS).waiting == Ledger.of(decoder.tally, RECORDS).waiting == 1
    flows = decoder.decode(batch(ipfix(set_(300, record(2) + record(3)), sequence=1), ipfix(template(300), sequence=3)))
    assert [r[x.KEPT.index("octets")] for r in rows(flows)] == [1001, 1002, 1003]
    assert len(decoder.waiting) == decoder.waiting.octets == 0
    assert decoder.tally["records lost"] == 0
    check_laws(decoder.tally, decoder.exporters)


def test_templates_are_known_by_exporter_domain_and_version():
    other = Datagrams.of([(A, ipfix(template(300)), 1), (B, ipfix(set_(300, record())), 2)])
    for payloads in (
        other,
        batch(ipfix(template(300)), ipfix(set_(300, record()), domain=2)),
        batch(ipfix(template(300)), v9(set_(300, record()))),
    ):
        decoder = NetflowDecoder()
        assert len(decoder.decode(payloads)) == 0
        assert decoder.tally["records waiting"] == 1


def test_a_template_holds_until_it_is_changed_or_withdrawn():
    short = ((x.SRC, 4), (x.DST, 4), (x.OCTETS, 4))
    small = x.ip("10.0.0.1") + x.ip("10.0.0.2") + struct.pack(">I", 7)
    withdrawn = set_(2, struct.pack(">HH", 300, 0))
    sets = (template(300), set_(300, record()), template(300, short), set_(300, small), withdrawn, set_(300, small))
    for payloads in ([ipfix(*sets)], [ipfix(s) for s in sets]):
        flows, decoder = decoded(*payloads)
        assert sorted(flows.octets.tolist()) == [7, 1000]
        assert decoder.tally["records waiting"] == 1
    decoder.decode(batch(ipfix(template(300), template(301)), ipfix(set_(2, struct.pack(">HH", 2, 0)))))
    assert not decoder.known.known[A].templates


def test_reduced_sizes_totals_and_both_families():
    both = ((x.SRC, 4), (27, 16), (28, 16), (x.DST, 4), (85, 8), (86, 3), (x.OCTETS, 2))
    four = x.ip("10.0.0.1") + bytes(32) + x.ip("10.0.0.2") + struct.pack(">Q", 99) + b"\0\0\5" + struct.pack(">H", 50)
    six = bytes(4) + x.ip("fd00::1") + x.ip("fd00::2") + bytes(4) + struct.pack(">Q", 99) + b"\0\0\5" + struct.pack(">H", 50)
    flows, _ = decoded(ipfix(template(300, both), set_(300, four + six)))
    first, second = (dict(zip(x.KEPT, r, strict=True)) for r in rows(flows))
    assert (first["src"], first["dst"], first["octets"], first["packets"]) == ("10.0.0.1", "10.0.0.2", 50, 5)
    assert (second["src"], second["dst"]) == ("fd00::1", "fd00::2")


NTP = 2_208_988_800


@pytest.mark.parametrize(
    ("elements", "values", "start", "end"),
    [
        (((150, 4), (151, 4)), (x.WHEN - 5, x.WHEN - 3), -5 * 10**9, -3 * 10**9),
        (((152, 8), (153, 8)), (x.WHEN * 1000 - 5, x.WHEN * 1000 - 3), -5 * 10**6, -3 * 10**6),
        (((154, 8), (155, 8)), ((x.WHEN + NTP << 32) - (1 << 31), x.WHEN + NTP << 32), -(10**9) // 2, 0),
        (((156, 8), (157, 8)), ((x.WHEN + NTP << 32) - (1 << 30), x.WHEN + NTP << 32), -(10**9) // 4, 0),
        (((154, 8), (155, 8)), (x.WHEN * 10**6 - 7, x.WHEN * 10**6), -7000, 0),  # as some exporters have it
        (((158, 4), (159, 4)), (500, 200), -500_000, -200_000),
        (((22, 4), (21, 4)), (10_000, 14_000), -4 * 10**9, 0),  # the exporter's boot is not known: its duration is
        (((22, 4), (21, 4), (160, 8)), (10_000, 14_000, (x.WHEN - 100) * 1000), -90 * 10**9, -86 * 10**9),
        (((152, 8), (161, 4)), (x.WHEN * 1000 - 9, 5), -9_000_000, -4_000_000),
        (((153, 8), (162, 4)), (x.WHEN * 1000 - 9, 5), -9_005_000, -9_000_000),
        (((x.OCTETS, 4),), (1,), 0, 0),
        (((152, 8), (153, 8)), (x.WHEN * 1000, x.WHEN * 1000 - 3), 0, 0),  # it does not end before it starts
        (((152, 8), (153, 8)), ((1 << 64) - 1, (1 << 64) - 1), None, None),
    ],
)
def test_times(elements, values, start, end):
    packed = b"".join(struct.pack(">Q" if n == 8 else ">I", v) for (_, n), v in zip(elements, values, strict=True))
    flows, _ = decoded(ipfix(template(300, ((8, 4), (12, 4), *elements)), set_(300, bytes(8) + packed)))
    got = row(flows)
    if start is not None:
        assert (got["start_ns"] - x.WHEN * 10**9, got["end_ns"] - x.WHEN * 10**9) == (start, end)


def test_without_any_time_it_is_when_it_was_received():
    flows, _ = decoded(ipfix(template(300, ((8, 4), (12, 4))), set_(300, bytes(8)), when=0))
    assert row(flows)["end_ns"] == x.WHEN * 10**9


def test_biflows_are_two_records():
    given = (
        (x.SRC, 4),
        (x.DST, 4),
        (x.SRC_PORT, 2),
        (x.DST_PORT, 2),
        (x.OCTETS, 4),
        (1, 4, 29305),
        (2, 4, 29305),
        (6, 1, 29305),
    )
    one = x.ip("10.0.0.1") + x.ip("10.0.0.2") + struct.pack(">HHIIIB", 5, 6, 100, 200, 3, 0x12)
    none = x.ip("10.0.0.3") + x.ip("10.0.0.4") + struct.pack(">HHIIIB", 5, 6, 100, 0, 0, 0)
    flows, decoder = decoded(ipfix(template(300, given), set_(300, one + none)))
    got = [dict(zip(x.KEPT, r, strict=True)) for r in rows(flows)]
    assert [(g["src"], g["dst"], g["src_port"], g["dst_port"], g["octets"], g["tcp_flags"]) for g in got] == [
        ("10.0.0.1", "10.0.0.2", 5, 6, 100, 0),
        ("10.0.0.2", "10.0.0.1", 6, 5, 200, 0x12),
        ("10.0.0.3", "10.0.0.4", 5, 6, 100, 0),
    ]
    assert decoder.tally["records decoded"] == 3


@pytest.mark.parametrize("version", [9, 10])
def test_sampling_rates_from_options_hold_from_then_on(version):
    message = ipfix if version == 10 else v9
    scope, sampler = ((1, 4),), ((48, 2), (34, 4))
    told = set_(400, struct.pack(">IHI", 1, 3, 512))
    fields = ((*x.FIELDS, (48, 2)), struct.pack(">H", 3))
    data = set_(300, record() + fields[1])
    flows, decoder = decoded(
        message(template(300, fields[0], version=version), data),
        message(options_template(400, scope, sampler, version=version), told, sequence=1),
        message(data, sequence=2),
    )
    assert sorted(flows.sampling_rate.tolist()) == [1, 512]
    assert decoder.tally["records merged"] == 1
    again = NetflowDecoder(state=decoder.state)
    assert again.decode(batch(message(data))).sampling_rate.tolist() == [512]


@pytest.mark.parametrize(
    ("elements", "packed", "rate"),
    [
        (((34, 4),), struct.pack(">I", 64), 64),
        (((50, 4),), struct.pack(">I", 0), 1),
        (((305, 4),), struct.pack(">I", 100), 100),
        (((305, 4), (306, 4)), struct.pack(">II", 1, 99), 100),
        (((305, 4), (306, 4)), struct.pack(">II", 10, 0), 10),
        (((309, 4), (310, 4)), struct.pack(">II", 2, 512), 256),
        (((311, 8),), struct.pack(">d", 0.001), 1000),
        (((311, 4),), struct.pack(">f", 0.5), 2),
        (((311, 8),), struct.pack(">d", float("nan")), 1),
    ],
)
def test_sampling_rates_in_records(elements, packed, rate):
    flows, _ = decoded(ipfix(template(300, (*x.FIELDS, *elements)), set_(300, record() + packed)))
    assert flows.sampling_rate.tolist() == [rate]


def test_what_options_say_of_the_exporter_is_evidence():
    flows, decoder = decoded(
        ipfix(options_template(400, ((149, 4),), ((164, 8), (166, 8))), set_(400, struct.pack(">IQQ", 1, 5, 6)))
    )
    (notices,) = decoder.take_evidence().notices
    assert [notices.elements[e] for e in notices.element] == ["ignoredPacketTotalCount", "notSentFlowTotalCount"]
    assert notices.value.tolist() == [5, 6]
    assert len(flows) == len(decoder.take_evidence()) == 0


def test_a_frame_is_decoded_down_to_the_bth():
    frame = frames.ethernet(frames.ipv4(frames.roce(10, frames.reth(64) + b"x" * 64, dst_qp=0x77), 17, tos=3))
    notice = frames.ethernet(frames.ipv4(frames.roce(0x81, bytes(16)), 17))
    other = frames.ethernet(bytes(40), 0x0806)
    body = b"".join(
        struct.pack(">H", len(f)) + x.variable(f, long=long) for f, long in ((frame, False), (notice, True), (other, True))
    )
    flows, decoder = decoded(ipfix(template(300, ((312, 2), (315, x.VARIABLE))), set_(300, body)))
    marked, notified = sorted((dict(zip(x.KEPT, r, strict=True)) for r in rows(flows)), key=lambda r: r["cnp"])
    assert {name: marked[name] for name in ("src", "dst", "src_port", "dst_port", "dst_qp", "octets", "ecn", "packets")} == {
        "src": "10.0.0.1",
        "dst": "10.0.0.2",
        "src_port": 0,
        "dst_port": 4791,
        "dst_qp": 0x77,
        "octets": 64,
        "ecn": 1,
        "packets": 1,
    }
    assert (notified["cnp"], notified["octets"]) == (1, 0)
    assert decoder.tally["records dropped: no flow in the frame"] == 1


def test_an_element_of_one_s_own():
    elements = parse("enterprise,element,name,column,unit\n30065,7,bthDestinationQp,dst_qp,\n", base=DEFAULT)
    given = ((*x.FIELDS, (7, 4, 30065)), struct.pack(">I", 0xABCDEF))
    flows, _ = decoded(ipfix(template(300, given[0]), set_(300, record() + given[1])), elements=elements)
    assert row(flows)["dst_qp"] == 0xABCDEF


@pytest.mark.parametrize(
    ("payload", "datagrams", "records"),
    [
        (b"", "truncated header", None),
        (b"\0\x09abc", "truncated header", None),
        (b"\0\x07" + bytes(60), "unknown version", None),
        (v5(count=0), "bad message length", None),
        (v5(x.v5_record(), count=31), "bad message length", None),
        (v5(x.v5_record(), count=2), "cut off", "cut off"),
        (ipfix(length=15), "bad message length", None),
        (ipfix(template(300), set_(300, record()), length=5000), "cut off", None),
        (ipfix(template(300), set_(300, record(), length=2000)), "cut off", "cut off"),
        (ipfix(set_(300, b"", length=3)), "bad set length", "bad set length"),
        (v9(set_(0, b"", length=0), b"\1"), "bad set length", "bad set length"),
        (ipfix(set_(77, b"abcd")), "reserved set id", "reserved set id"),
        (ipfix(set_(0, b"abcd")), "reserved set id", "reserved set id"),
        (v9(set_(2, b"abcd")), "reserved set id", "reserved set id"),
        (ipfix(template(300), set_(300, b"abc")), "cut off", "cut off"),
        (ipfix(template(300, ((8, 4), (82, x.VARIABLE))), set_(300, b"abcd\x09abc")), "cut off", "cut off"),
        (ipfix(set_(2, struct.pack(">HH", 300, 9))), "bad template", None),
        (ipfix(set_(2, struct.pack(">HHHH", 300, 1, 8, 0))), "bad template", None),
        (ipfix(set_(2, struct.pack(">HHHH", 99, 1, 8, 4))), "bad template", None),
        (ipfix(set_(3, struct.pack(">HHHHH", 300, 1, 0, 8, 4))), "bad template", None),
    ],
)
def test_bad_datagrams_are_errors_by_reason(payload, datagrams, records):
    _, decoder = decoded(payload)
    assert Ledger.of(decoder.tally, DATAGRAMS).errors == {datagrams: 1}
    assert Ledger.of(decoder.tally, RECORDS).errors == ({records: 1} if records else {})


def test_zeros_after_the_last_set_are_padding():
    flows, decoder = decoded(v9(template(300, version=9), set_(300, record()), bytes(500)))
    assert (len(flows), decoder.tally["datagrams decoded"]) == (1, 1)


def test_what_waited_in_vain_is_an_error():
    decoder = NetflowDecoder(waiting=WaitingRoom(most_ns=10 * 10**9))
    decoder.decode(batch(ipfix(set_(300, record()), set_(301, record()))))
    decoder.decode(batch(ipfix(template(301)), when=x.WHEN + 5))
    assert decoder.tally["datagrams waiting"] == decoder.tally["records waiting"] == 1
    decoder.decode(batch(ipfix(), when=x.WHEN + 20))
    assert Ledger.of(decoder.tally, DATAGRAMS).errors == Ledger.of(decoder.tally, RECORDS).errors == {"no template": 1}
    check_laws(decoder.tally, decoder.exporters)


def test_the_room_for_waiting_is_bounded():
    decoder = NetflowDecoder(waiting=WaitingRoom(most_each=4000))
    for i in range(50):
        decoder.decode(batch(ipfix(set_(300 + i, bytes(100)))))
        check_laws(decoder.tally, decoder.exporters)
    assert decoder.waiting.octets <= 4000
    assert decoder.tally["records error: too much waits"] > 40
    _, decoder = decoded(ipfix(*(set_(300 + i, bytes(8)) for i in range(200))))
    assert Ledger.of(decoder.tally, RECORDS).errors == {"too many sets without a template": 200}


def test_exporters_are_bounded_and_those_that_are_known_come_first():
    decoder = NetflowDecoder(exporters=Exporters(most=3))
    decoder.decode(Datagrams.of([(A, ipfix(template(300), set_(301, record())), 1)]))
    crowd = [(f"198.51.100.{i}", ipfix(template(300)), 2) for i in range(9)]
    flows = decoder.decode(Datagrams.of([*crowd, (A, ipfix(set_(300, record())), 2)]))
    assert [r[-1] for r in rows(flows)] == [A]
    assert decoder.tally["datagrams error: too many exporters"] == 7
    check_laws(decoder.tally, decoder.exporters)
    decoder.decode(Datagrams.of([(f"203.0.113.{i}", ipfix(), 3) for i in range(3)]))
    assert A not in decoder.exporters
    assert decoder.tally["records error: exporter forgotten"] == 1
    check_laws(decoder.tally, decoder.exporters)


def test_gaps_in_sequence_numbers_are_losses():
    decoder = NetflowDecoder()
    data = set_(300, record() + record())
    numbers = (0, 2, 4, 10, 8, 12)
    decoder.decode(batch(ipfix(template(300)), *(ipfix(data, sequence=n) for n in numbers)))
    assert decoder.tally["records lost"] == 4
    assert decoder.tally["datagrams out of order"] == 1
    decoder.decode(batch(*(v9(sequence=n) for n in (5, 6, 9))))
    assert decoder.exporters[A]["datagrams lost"] == 2
    decoder.decode(batch(v5(x.v5_record(), sequence=2**32 - 1), v5(x.v5_record(), sequence=0), v5(x.v5_record(), sequence=3)))
    assert decoder.tally["records lost"] == 6


def test_templates_outlive_a_restart():
    first = NetflowDecoder()
    first.decode(batch(ipfix(template(300)), v9(template(301, version=9))))
    second = NetflowDecoder(state=first.state)
    assert len(second.decode(batch(ipfix(set_(300, record())), v9(set_(301, record()))))) == 2


ELEMENTS = ((5, 1), (10, 2), (14, 4), (82, 8), (95, 3), (210, 1), (9999, 6), (33, 7))


@st.composite
def layouts(draw):
    """Fields of a template, and records of it with what they say."""
    extra = draw(st.lists(st.sampled_from(ELEMENTS), max_size=5))
    sizes = {x.OCTETS: draw(st.sampled_from((2, 4, 8))), x.PACKETS: draw(st.integers(2, 8))}
    known = [(element, sizes.get(element, size)) for element, size in x.FIELDS]
    given = draw(st.permutations([*known, *extra]))
    return given, draw(
        st.lists(
            st.tuples(st.integers(0, 65535), st.integers(1, 65535), st.binary(min_size=8, max_size=8)), min_size=1, max_size=9
        )
    )


def packed(given, octets, packets, filler, *, vary=()):
    values = {
        x.SRC: x.ip("10.0.0.1"),
        x.DST: x.ip("10.0.0.2"),
        x.SRC_PORT: b"\0\1",
        x.DST_PORT: b"\0\2",
        x.PROTOCOL: b"\6",
        x.FLAGS: b"\x10",
    }
    values |= {x.START_MS: struct.pack(">Q", x.WHEN * 1000), x.END_MS: struct.pack(">Q", x.WHEN * 1000 + octets)}
    numbers = {x.OCTETS: octets, x.PACKETS: packets}
    out = b""
    for element, size in given:
        value = numbers[element].to_bytes(size, "big") if element in numbers else values.get(element, filler[:size])
        out += x.variable(value, long=filler[0] % 2 == 0) if element in vary else value
    return out


@given(layouts(), st.sets(st.sampled_from([x.OCTETS, x.PACKETS, x.SRC_PORT, 82, 95, 9999, 33])))
def test_records_of_one_size_and_of_many_say_the_same(layout, vary):
    given_fields, values = layout
    flexible = [(element, x.VARIABLE if element in vary else size) for element, size in given_fields]
    fixed_body = b"".join(packed(given_fields, *v) for v in values)
    varying_body = b"".join(packed(given_fields, *v, vary=vary) for v in values)
    fixed, _ = decoded(ipfix(template(300, given_fields), set_(300, fixed_body)))
    varying, decoder = decoded(ipfix(template(300, flexible), set_(300, varying_body)))
    assert rows(fixed) == rows(varying)
    assert sorted(fixed.octets.tolist()) == sorted(v[0] for v in values)
    assert sorted(fixed.packets.tolist()) == sorted(v[1] for v in values)
    assert decoder.tally["records decoded"] == len(values)


def traffic(chance):
    """What one exporter sends: templates, data, options, of all versions, whole and broken."""
    good = [
        ipfix(template(300), set_(300, record(1)), sequence=5),
        ipfix(set_(300, record(2) + record(3))),
        ipfix(set_(301, record(4))),
        ipfix(template(301), options_template(400, ((302, 4),), ((305, 4),))),
        ipfix(set_(400, struct.pack(">II", 1, chance.choice((10, 20)))), set_(300, record(5))),
        ipfix(set_(2, struct.pack(">HH", 300, 0))),
        ipfix(template(302, ((8, 4), (12, 4), (1, 4), (82, x.VARIABLE)))),
        ipfix(set_(302, (bytes(12) + x.variable(b"eth0")) * 3)),
        v9(template(300, version=9), set_(300, record(6))),
        v9(set_(300, record(7)), set_(500, record(8))),
        v5(x.v5_record(), x.v5_record(), sequence=9),
    ]
    chosen = [chance.choice(good) for _ in range(chance.randrange(12))]
    for i, payload in enumerate(chosen):
        what = chance.random()
        if what < 0.1:
            chosen[i] = payload[: chance.randrange(len(payload))]
        elif what < 0.2:
            spoiled = bytearray(payload)
            for _ in range(3):
                spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
            chosen[i] = bytes(spoiled)
        elif what < 0.25:
            chosen[i] = chance.randbytes(chance.randrange(100))
    return chosen


def outcome(tally):
    """What became of everything; without gaps in sequences, which are not followed where the size of a message is not known."""
    return [replace(Ledger.of(tally, unit), lost=0) for unit in (DATAGRAMS, RECORDS)]


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_the_laws_hold_and_exporters_do_not_disturb_one_another(seed):
    chance = random.Random(seed)
    sent = {who: traffic(chance) for who in (A, B, "2001:db8::1")}
    order = [who for who, payloads in sent.items() for _ in payloads]
    chance.shuffle(order)
    queues = {who: iter(payloads) for who, payloads in sent.items()}
    mixed = [(who, next(queues[who]), i * 10**9) for i, who in enumerate(order)]
    whole = NetflowDecoder()
    flows = rows(whole.decode(Datagrams.of(mixed)))
    check_laws(whole.tally, whole.exporters)
    assert whole.tally["datagrams received"] == len(mixed)
    singly = NetflowDecoder()
    assert sorted(r for datagram in mixed for r in rows(singly.decode(Datagrams.of([datagram])))) == flows
    check_laws(singly.tally, singly.exporters)
    assert outcome(singly.tally) == outcome(whole.tally)
    for who in sent:
        alone = NetflowDecoder()
        mine = rows(alone.decode(Datagrams.of([datagram for datagram in mixed if datagram[0] == who])))
        assert mine == [r for r in flows if r[-1] == who]
        assert +alone.tally == +whole.exporters.get(who, alone.tally)


def test_many_exporters_at_once():
    many = [(f"10.1.{i // 256}.{i % 256}", ipfix(template(300), set_(300, record(i))), i) for i in range(600)]
    decoder = NetflowDecoder()
    flows = decoder.decode(Datagrams.of(many))
    assert len(flows) == 600
    assert [flows.exporters[e] for e in flows.exporter] == [f"10.1.{i // 256}.{i % 256}" for i in flows.octets - 1000]
    assert isinstance(flows.octets, np.ndarray)
