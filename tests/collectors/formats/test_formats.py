"""Exports of other makers, where they are at hand."""

import re
from collections import Counter
from pathlib import Path

import pytest

from collectors.captures import pcap
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.sflow.sflow import SflowDecoder
from collectors.packets.plain_decoder import DecodeError
from collectors.recorded_exports.captured_exports import Extractor, split
from tests.collectors.builders.exports import batch, check_laws

OTHERS = Path(__file__).parents[4] / "shared" / "formats"
TELEGRAF = sorted(OTHERS.glob("netflow_ipfix/telegraf/*/expected.out"))
LOGSTASH = sorted(OTHERS.glob("netflow_ipfix/logstash/*.dat"))


def influx(line):
    """Fields of a line; the time and tags aside."""
    head, _, rest = line.partition(" ")
    texts = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,\s]+)', rest)
    return head.split(",")[0], {name: value.strip('"').removesuffix("u") for name, value in texts}


@pytest.mark.parametrize("expected", TELEGRAF, ids=lambda p: p.parent.name)
def test_telegraf_s_expectations(expected):
    payloads = [path.read_bytes() for path in sorted(expected.parent.glob("*.bin"))]
    sflow = expected.parent.name.startswith("sflow")
    decoder = SflowDecoder() if sflow else NetflowDecoder()
    flows = decoder.decode(batch(*payloads))
    check_laws(decoder.tally, decoder.exporters)
    lines = [influx(line) for line in expected.read_text().splitlines() if line.strip()]
    said = [fields for kind, fields in lines if kind == "netflow" and "src" in fields and "dst" in fields]
    wanted = Counter()
    for f in said:
        if sflow and f.get("protocol") not in ("tcp", "udp"):
            continue
        wanted[f["src"], f["dst"], int(f.get("src_port", 0)), int(f.get("dst_port", 0))] += 1
    ends = zip(flows.src, flows.dst, flows.src_port.tolist(), flows.dst_port.tolist(), strict=True)
    got = Counter((flows.endpoints[s], flows.endpoints[d], a, b) for s, d, a, b in ends)
    backwards = {(d, s, b, a) for s, d, a, b in wanted}  # the other halves of biflows are records of ours, not of theirs
    assert not wanted - got
    assert set(got - wanted) <= backwards
    if not sflow and not got - wanted:
        assert sorted(flows.octets.tolist()) == sorted(int(f.get("in_bytes", f.get("in_total_bytes", 0))) for f in said)
        assert sorted(flows.packets.tolist()) == sorted(int(f.get("in_packets", f.get("in_total_packets", 0))) for f in said)
    elif not sflow:
        assert not Counter(int(f["in_total_bytes"]) for f in said) - Counter(flows.octets.tolist())
        assert not Counter(int(f["type_29305_85"], 16) for f in said if "type_29305_85" in f) - Counter(flows.octets.tolist())


@pytest.mark.parametrize(
    "data", [p for p in LOGSTASH if "invalid" not in p.name and "opttpl" not in p.name], ids=lambda p: p.stem
)
def test_all_valid_payloads_decode(data):
    """With all templates of the same maker, whose names begin alike, read before."""
    decoder = NetflowDecoder()
    maker = re.split(r"_(?:data|tpl|opttpl|dpi)", data.stem)[0]
    templates = [p for p in LOGSTASH if p.stem.startswith(maker) and "tpl" in p.stem]
    datagrams = batch(*(p.read_bytes() for p in (*templates, data)))
    decoder.decode(datagrams)
    check_laws(decoder.tally, decoder.exporters)
    errors = {name: n for name, n in decoder.tally.items() if "error" in name and n}
    assert errors == {}


@pytest.mark.skipif(not OTHERS.exists(), reason="captures of other makers are not there")
def test_odd_captures_are_decoded_or_refused():
    refused = 0
    for path in sorted([*OTHERS.glob("odd/*"), *OTHERS.glob("sflow/*.pcap")]):
        netflow, sflow, extractor = NetflowDecoder(), SflowDecoder(), Extractor(range(1 << 16))
        try:
            for captured in pcap.read(path):
                for decoder, datagrams in zip((netflow, sflow), split(extractor.exports(captured)), strict=True):
                    decoder.decode(datagrams)
                    check_laws(decoder.tally, decoder.exporters)
        except DecodeError:
            refused += 1
    assert refused < 50


@pytest.mark.parametrize("name", [p.stem for p in OTHERS.glob("sflow/*.pcap")])
def test_sflow_counters_as_tcpdump_shows_them(name):
    decoder, extractor = SflowDecoder(), Extractor()
    for captured in pcap.read(OTHERS / "sflow" / f"{name}.pcap"):
        decoder.decode(extractor.exports(captured))
    text = (OTHERS / "sflow" / f"{name}.out").read_text()
    got = [
        c
        for part in decoder.take_evidence().counters
        for c in zip(part.interface, part.speed, part.in_octets, part.out_octets, strict=True)
    ]
    shown = re.findall(r"ifindex (\d+), iftype \d+, ifspeed (\d+).*?In octets (\d+).*?Out octets (\d+)", text, re.DOTALL)
    assert [tuple(map(int, c)) for c in got] == [tuple(map(int, c)) for c in shown]
    assert decoder.tally["records received"] == len(re.findall(r"(?:flow|counter) sample \(\d\)", text))
