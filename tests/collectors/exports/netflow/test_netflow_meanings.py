"""What the elements of records and options come to: times, rates, evidence, frames."""

import struct

import pytest

from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.records.elements import DEFAULT, parse
from tests.collectors.builders import exports as x
from tests.collectors.builders import frames
from tests.collectors.builders.exports import batch, ipfix, options_template, record, row, rows, set_, template, v9
from tests.collectors.builders.netflows import decoded


def test_reduced_sizes_totals_and_both_families():
    both = ((x.SRC, 4), (27, 16), (28, 16), (x.DST, 4), (85, 8), (86, 3), (x.OCTETS, 2))
    four = x.ip("10.0.0.1") + bytes(32) + x.ip("10.0.0.2") + struct.pack(">Q", 99) + b"\0\0\5" + struct.pack(">H", 50)
    six = bytes(4) + x.ip("fd00::1") + x.ip("fd00::2") + bytes(4) + struct.pack(">Q", 99) + b"\0\0\5" + struct.pack(">H", 50)
    flows, _ = decoded(ipfix(template(300, both), set_(300, four + six)))
    first, second = (dict(zip(x.KEPT, r, strict=True)) for r in rows(flows))
    assert (first["src"], first["dst"], first["octets"], first["packets"]) == ("10.0.0.1", "10.0.0.2", 50, 5)
    assert (second["src"], second["dst"]) == ("fd00::1", "fd00::2")


NTP = 2_208_988_800
MONTHS_UP = 120 * 86_400 * 1000  # ms; the count of 32 bits has wrapped twice
MONTHS = MONTHS_UP % (1 << 32)


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
        (((22, 4), (21, 4), (160, 8)), (MONTHS - 5000, MONTHS - 1000, x.WHEN * 1000 - MONTHS_UP), -5 * 10**9, -(10**9)),
        (((22, 4), (21, 4), (160, 8)), ((1 << 32) - 3000, 1000, x.WHEN * 1000 - (3 << 32) - 2000), -5 * 10**9, -(10**9)),
        (((22, 4), (21, 4), (160, 8)), (10_000, 14_000, 0), -4 * 10**9, 0),  # a boot time that nobody set
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


@pytest.mark.parametrize("uptime", [0, 5_000])
def test_times_since_boot_next_to_the_uptime_in_the_header(uptime):
    """The uptime has just wrapped, or nobody sets it and the boot time is in the record."""
    boot = x.WHEN * 1000 - (3 << 32) - 5_000
    fields = ((8, 4), (12, 4), (22, 4), (21, 4), (160, 8))
    body = bytes(8) + struct.pack(">IIQ", (1 << 32) - 2_000, 1_000, boot)
    flows, _ = decoded(v9(template(300, fields, version=9), set_(300, body), uptime=uptime))
    got = row(flows)
    assert (got["start_ns"] - x.WHEN * 10**9, got["end_ns"] - x.WHEN * 10**9) == (-7 * 10**9, -4 * 10**9)


def test_an_exporter_that_has_been_up_for_60_days():
    """The given input: the boot time is in options. Start and end are 5 s and 1 s before the export."""
    up = 60 * 86_400 * 1000
    options = ipfix(options_template(400, ((144, 4),), ((160, 8),)), set_(400, struct.pack(">IQ", 1, x.WHEN * 1000 - up)))
    fields = ((8, 4), (12, 4), (22, 4), (21, 4), (1, 4), (1, 4, 29305), (22, 4, 29305), (21, 4, 29305))
    values = [(up - ago) % (1 << 32) for ago in (5000, 1000)] + [9, 7] + [(up - ago) % (1 << 32) for ago in (4000, 2000)]
    flows, _ = decoded(options, ipfix(template(300, fields), set_(300, bytes(8) + struct.pack(">6I", *values))))
    assert (flows.start_ns - x.WHEN * 10**9).tolist() == [-5 * 10**9, -4 * 10**9]
    assert (flows.end_ns - x.WHEN * 10**9).tolist() == [-(10**9), -2 * 10**9]


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
    assert sorted(flows.sampling_rate.tolist()) == [0, 512]  # of the first one a sampler is named, and not its rate
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
    assert decoder.tally["records dropped: frame not decoded"] == 1


def test_an_element_of_one_s_own():
    elements = parse("enterprise,element,name,column,unit\n30065,7,bthDestinationQp,dst_qp,\n", base=DEFAULT)
    given = ((*x.FIELDS, (7, 4, 30065)), struct.pack(">I", 0xABCDEF))
    flows, _ = decoded(ipfix(template(300, given[0]), set_(300, record() + given[1])), elements=elements)
    assert row(flows)["dst_qp"] == 0xABCDEF
