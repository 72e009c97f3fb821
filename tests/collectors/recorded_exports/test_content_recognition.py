import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.recorded_exports._content_recognition import protocol_of
from tests.collectors.builders import exports as x
from tests.collectors.builders import frames
from tests.collectors.builders.exports import ipfix, options_template, record, set_, template

SAMPLE = x.flow_sample(x.raw_header(frames.ethernet(frames.ipv4(frames.tcp(b"x")))))
GOOD = {
    "NetFlow v5": x.v5(x.v5_record(), x.v5_record()),
    "NetFlow v9": x.v9(template(300, version=9), options_template(400, ((1, 4),), ((34, 4),), version=9), set_(300, record())),
    "IPFIX": ipfix(template(300), options_template(400, ((149, 4),), ((34, 4),)), set_(300, record())),
    "sFlow": x.sflow(SAMPLE, x.counters()),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_an_export(name):
    whole = GOOD[name]
    assert protocol_of(whole, len(whole)) == name
    assert protocol_of(whole[:-9], len(whole)) == name  # the capture has not all of it
    assert protocol_of(x.sflow(SAMPLE, agent="fd00::9"), len(x.sflow(SAMPLE, agent="fd00::9"))) == "sFlow"


@pytest.mark.parametrize("name", GOOD)
def test_lengths_have_to_fit(name):
    whole = GOOD[name]
    for other in (whole + b"xyz9", whole[:-3], whole[:14], whole[:1] + bytes((whole[1] + 2,)) + whole[2:]):
        assert protocol_of(other, len(other)) == ""


BAD = {
    "no set": ipfix(),
    "a reserved set": ipfix(set_(4, bytes(8))),
    "a set of no length": ipfix(set_(300, bytes(8), length=0)),
    "a template cut off": ipfix(set_(2, struct.pack(">HHHH", 300, 9, 8, 4))),
    "no template": ipfix(set_(2, b"")),
    "v9 of no record": b"\0\t\0\0" + GOOD["NetFlow v9"][4:],
    "v5 of 31 records": x.v5(*[x.v5_record()] * 31),
    "v5 of no record": x.v5(),
    "v5 of a billion ns": GOOD["NetFlow v5"][:12] + b"\xff" * 4 + GOOD["NetFlow v5"][16:],
    "sFlow of no sample": x.sflow(),
    "sFlow of another agent": GOOD["sFlow"][:7] + b"\3" + GOOD["sFlow"][8:],
    "sFlow of odd samples": x.sflow(x.flow_record(1, b"abc")),
    "DNS": bytes.fromhex("000a01000001000000000000076578616d706c6503636f6d0000010001"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_none(name):
    assert protocol_of(BAD[name], len(BAD[name])) == ""


@given(st.sampled_from([b"\0\5", b"\0\t", b"\0\n", b"\0\0\0\5"]), st.binary(max_size=200))
def test_arbitrary_payloads(begin, rest):
    protocol_of(begin + rest, len(begin + rest))
