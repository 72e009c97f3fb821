import struct

import pytest

from collectors.exports.counter_names import DATAGRAMS, RECORDS, CounterTable
from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow.netflow import NetflowDecoder, warm
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import A, B, batch, check_laws, ipfix, record, row, rows, set_, template, v5, v9
from tests.collectors.builders.netflows import decoded


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
    assert CounterTable.of(decoder.tally, DATAGRAMS).waiting == CounterTable.of(decoder.tally, RECORDS).waiting == 1
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


def test_what_it_is_warmed_with_is_sound(monkeypatch):
    made = []
    decode = NetflowDecoder.decode
    monkeypatch.setattr(NetflowDecoder, "decode", lambda self, datagrams: made.append(self) or decode(self, datagrams))
    warm()
    (decoder,) = made
    assert decoder.tally["datagrams decoded"] == 1
    assert decoder.tally["records emitted"] == 2
