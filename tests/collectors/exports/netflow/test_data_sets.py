import struct

import pytest

from collectors.exports.netflow.netflow import NetflowDecoder
from tests.collectors.builders import exports as x
from tests.collectors.builders import frames
from tests.collectors.builders.exports import batch, check_laws, ipfix, record, row, set_, template


def decoded(*sets):
    decoder = NetflowDecoder()
    flows = decoder.decode(batch(ipfix(*sets)))
    check_laws(decoder.tally, decoder.exporters)
    return flows, decoder.tally


def test_records_without_addresses_are_dropped_before_anything_is_made_of_them():
    flows, tally = decoded(template(300, ((1, 1),)), set_(300, bytes(60_000)))
    assert (len(flows), tally["records dropped: no addresses in the template"]) == (0, 60_000)


@pytest.mark.parametrize("padding", [0, 1, 41])
def test_what_is_shorter_than_a_record_is_padding(padding):
    flows, tally = decoded(template(300), set_(300, record() + bytes(padding)))
    assert (len(flows), tally["datagrams decoded"]) == (1, 1)


def test_records_of_several_layouts_are_one_batch():
    small = x.ip("10.0.0.3") + x.ip("10.0.0.4")
    flows, _ = decoded(
        template(300), template(301, ((8, 4), (12, 4))), set_(300, record()), set_(301, small), set_(300, record(1))
    )
    assert sorted(flows.octets.tolist()) == [0, 1000, 1001]
    assert {flows.endpoints[c] for c in flows.src} == {"10.0.0.1", "10.0.0.3"}


def test_a_frame_of_no_flow_with_addresses_beside_it_is_a_record_all_the_same():
    fields = ((8, 4), (12, 4), (1, 4), (34, 4), (315, x.VARIABLE))
    write = frames.ethernet(frames.ipv4(frames.roce(10, frames.reth(64) + b"x" * 64, dst_qp=5), 17))
    body = b"".join(
        x.ip("10.1.0.1") + x.ip("10.1.0.2") + struct.pack(">II", octets, 100) + x.variable(frame)
        for octets, frame in ((77, b"not a frame"), (99, write))
    )
    flows, _ = decoded(template(300, fields), set_(300, body))
    got = {
        (flows.endpoints[s], int(q), int(o), int(r))
        for s, q, o, r in zip(flows.src, flows.dst_qp, flows.octets, flows.sampling_rate, strict=True)
    }
    assert got == {("10.1.0.1", 0, 77, 100), ("10.0.0.1", 5, 99, 100)}


def test_an_ip_packet_in_a_record():
    packet = frames.ipv4(frames.tcp(b"x" * 9))
    flows, _ = decoded(template(300, ((313, x.VARIABLE),)), set_(300, x.variable(packet)))
    assert (row(flows)["octets"], row(flows)["dst_port"]) == (9, 2000)
