"""What is bad, what waits in vain, what is bounded, and what outlives a restart."""

import struct

import pytest

from collectors.exports.counter_names import DATAGRAMS, RECORDS, CounterTable
from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow.exporter_state import Exporters
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.netflow.waiting_sets import WaitingRoom
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import A, batch, check_laws, ipfix, record, rows, set_, template, v5, v9
from tests.collectors.builders.netflows import decoded


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
    assert CounterTable.of(decoder.tally, DATAGRAMS).errors == {datagrams: 1}
    assert CounterTable.of(decoder.tally, RECORDS).errors == ({records: 1} if records else {})


def test_zeros_after_the_last_set_are_padding():
    flows, decoder = decoded(v9(template(300, version=9), set_(300, record()), bytes(500)))
    assert (len(flows), decoder.tally["datagrams decoded"]) == (1, 1)


def test_what_waited_in_vain_is_an_error():
    decoder = NetflowDecoder(waiting=WaitingRoom(most_ns=10 * 10**9))
    decoder.decode(batch(ipfix(set_(300, record()), set_(301, record()))))
    decoder.decode(batch(ipfix(template(301)), when=x.WHEN + 5))
    assert decoder.tally["datagrams waiting"] == decoder.tally["records waiting"] == 1
    decoder.decode(batch(ipfix(), when=x.WHEN + 20))
    assert (
        CounterTable.of(decoder.tally, DATAGRAMS).errors
        == CounterTable.of(decoder.tally, RECORDS).errors
        == {"template did not arrive": 1}
    )
    check_laws(decoder.tally, decoder.exporters)


def test_the_room_for_waiting_is_bounded():
    decoder = NetflowDecoder(waiting=WaitingRoom(most_each=4000))
    for i in range(50):
        decoder.decode(batch(ipfix(set_(300 + i, bytes(100)))))
        check_laws(decoder.tally, decoder.exporters)
    assert decoder.waiting.octets <= 4000
    assert decoder.tally["records error: too many records wait for a template"] > 40
    _, decoder = decoded(ipfix(*(set_(300 + i, bytes(8)) for i in range(200))))
    assert CounterTable.of(decoder.tally, RECORDS).errors == {"too many sets without a template": 200}


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
