"""Captured exports; and exports of real exporters, by pmacct's probes, against what our own packet decoder sees."""

import contextlib
import gzip
import select
import shutil
import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.aggregation.batch_decoder import Decoder
from collectors.captures import pcap
from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.sflow.sflow import SflowDecoder
from collectors.packets.frame_batch import Batch
from collectors.recorded_exports._ip_fragments import INCOMPLETE, OVERLAP
from collectors.recorded_exports.captured_exports import (
    MAX_PORTS,
    NO_EXPORT,
    NOT_UDP,
    OTHER_PORT,
    Extractor,
    is_netflow,
    is_sflow,
    split,
)
from tests.collectors.builders import exports as x
from tests.collectors.builders import frames
from tests.collectors.builders.exports import flow_sample, ipfix, raw_header, record, rows, set_, sflow, template

CAPTURE = Path(__file__).parents[3] / "pcaps" / "two_jobs" / "leaf0.pcap.gz"
FLOW = ipfix(template(300), set_(300, record()))
SAMPLE = sflow(flow_sample(raw_header(frames.ethernet(frames.ipv4(frames.tcp(b"x"))))))


def carried(payload, port, *, six=False):
    udp = frames.udp(payload, ports=(50_000, port))
    return frames.ethernet(frames.ipv6(udp, 17), 0x86DD) if six else frames.ethernet(frames.ipv4(udp, 17), tags=(0x8100,))


def found(*given, link_type=1):
    extractor = Extractor()
    datagrams = extractor.exports(Batch.of([(i, frame, len(frame)) for i, frame in enumerate(given)], link_type=link_type))
    extractor.end()
    return datagrams, extractor


def test_exports_in_captured_frames_and_who_sent_them():
    fragment = frames.ethernet(frames.ipv4(frames.udp(FLOW, ports=(1, 4739)), 17, fragment=0x2000))
    others = (carried(b"GET /", 2055), carried(b"GET /", 53), frames.ethernet(frames.ipv4(frames.tcp())), fragment)
    cut = frames.ethernet(frames.ipv4(frames.udp(FLOW, ports=(1, 4739)), 17))[:40]
    datagrams, extractor = found(carried(FLOW, 4739), carried(SAMPLE, 6343, six=True), *others, cut)
    expected = {NO_EXPORT: 1, OTHER_PORT: 1, NOT_UDP: 1, INCOMPLETE: 1, "truncated header": 1}
    assert (extractor.skipped, extractor.frames) == (expected, 2)
    assert (datagrams.senders, datagrams.received_ns.tolist()) == ((frames.ONE, frames.SIX), [0, 1])
    netflow, samples = split(datagrams)
    assert len(NetflowDecoder().decode(netflow)) == len(SflowDecoder().decode(samples)) == 1
    assert [is_sflow(p) for p in (FLOW, SAMPLE)] == [is_netflow(SAMPLE), is_netflow(FLOW)] == [False, True]


def test_other_link_layers_and_extension_headers():
    inside = frames.ipv6(bytes((17, 0)) + bytes(6) + frames.udp(FLOW, ports=(1, 2055)), 0)
    atomic = frames.ipv6(bytes((17, 0)) + bytes(6) + frames.udp(FLOW, ports=(1, 2055)), 44)
    for link_type, frame in (
        (101, inside),
        (101, atomic),
        (0, b"\x1e\0\0\0" + inside),
        (113, bytes(14) + b"\x86\xdd" + inside),
    ):
        assert len(found(frame, link_type=link_type)[0]) == 1
    assert found(inside, link_type=999)[1].skipped == {"unknown link type 999": 1}


def in_fragments(payload, port, *, size=512, six=False, src="192.0.2.9"):
    """The frames of a datagram whose packet was sent in pieces."""
    whole = frames.udp(payload, ports=(50_000, port))
    for at in range(0, len(whole), size):
        more = at + size < len(whole)
        part = whole[at : at + size]
        if six:
            head = bytes((17, 0)) + (at | more).to_bytes(2, "big") + b"\0\0\0\7"
            yield frames.ethernet(frames.ipv6(head + part, 44), 0x86DD)
        else:
            yield frames.ethernet(frames.ipv4(part, 17, fragment=at // 8 | (0x2000 if more else 0), src=src))


BIG = ipfix(template(300), set_(300, b"".join(map(record, range(60)))))


@pytest.mark.parametrize("six", [False, True])
@pytest.mark.parametrize("port", [4739, 2100])
def test_fragments_are_put_together(six, port):
    """The given input: a datagram of many records that came in two IP fragments."""
    pieces = list(in_fragments(BIG, port, six=six, size=1480))
    datagrams, extractor = found(*reversed(pieces), carried(FLOW, 4739))
    assert len(NetflowDecoder().decode(datagrams)) == 61
    assert (extractor.frames, extractor.joined, extractor.fragments, extractor.skipped) == (
        3 if len(pieces) == 2 else 4,
        1,
        len(pieces),
        {},
    )
    assert datagrams.received_ns.tolist() == [len(pieces) - 1, len(pieces)]


def test_fragments_of_two_exporters_are_not_mixed():
    pairs = zip(in_fragments(BIG, 4739, src="192.0.2.8"), in_fragments(BIG[::-1], 4739), strict=True)
    datagrams, extractor = found(*(frame for pair in pairs for frame in pair))
    assert (datagrams.senders, extractor.joined) == (("192.0.2.8",), 1)
    assert extractor.skipped[NO_EXPORT] == 6


def test_fragments_that_do_not_fit_are_counted():
    pieces = list(in_fragments(BIG, 4739))
    _, extractor = found(*pieces[:2], pieces[1][:-8], *pieces[3:])  # one is cut off by the capture, one is not there
    assert extractor.skipped == {INCOMPLETE: len(pieces)}
    other = frames.ethernet(frames.ipv4(bytes(512), 17, fragment=0x2000 | 64, src="192.0.2.9"))
    _, extractor = found(pieces[0], other, *pieces[1:])
    assert extractor.skipped == {OVERLAP: len(pieces) + 1}
    short = list(in_fragments(BIG, 4739))
    short[-1] = frames.ethernet(frames.ipv4(bytes(8), 17, fragment=len(short[:-1]) * 64, src="192.0.2.9"))
    assert found(*short)[1].skipped == {"invalid header": len(short)}  # of another length than the UDP header says


def test_exports_to_any_port_are_known_by_their_content():
    """The given input: IPFIX to port 2100."""
    old = x.v5(x.v5_record(), x.v5_record())
    given = [
        carried(FLOW, 2100),
        carried(SAMPLE, 7000),
        carried(old, 9000, six=True),
        carried(x.v9(template(300, version=9)), 1),
    ]
    datagrams, extractor = found(*given, carried(FLOW + b"x", 2100))
    assert len(datagrams) == 4
    assert extractor.elsewhere == {("IPFIX", 2100): 1, ("sFlow", 7000): 1, ("NetFlow v5", 9000): 1, ("NetFlow v9", 1): 1}
    assert extractor.skipped == {OTHER_PORT: 1}
    _, extractor = found(*(carried(FLOW, port) for port in range(10_000, 10_200)))
    assert len(extractor.elsewhere) == MAX_PORTS + 1
    assert extractor.elsewhere["IPFIX", 0] == 200 - MAX_PORTS


@given(st.sampled_from([1, 0, 101, 113, 276]), st.binary(max_size=80))
def test_arbitrary_frames(link_type, frame):
    datagrams, extractor = found(frame, link_type=link_type)
    assert len(datagrams) + extractor.skipped.total() == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.booleans(), st.binary(max_size=40)), max_size=40))
def test_arbitrary_fragments_are_all_counted(given_fragments):
    some = [
        frames.ethernet(frames.ipv4(octets, 17, fragment=offset | more << 13, src=f"10.0.0.{source}"))
        for source, offset, more, octets in given_fragments
    ]
    _, extractor = found(*some)
    assert extractor.frames + extractor.skipped.total() == len(some)


NFPROBE = "plugins: nfprobe\naggregate: src_host,dst_host,src_port,dst_port,proto\nnfprobe_receiver: {0}:{1}\nnfprobe_version: "
PROBES = {
    "sflow": "plugins: sfprobe\nsfprobe_receiver: {0}:{1}\nsfprobe_agentip: 10.1.2.3\n",
    **{f"version {version}": f"{NFPROBE}{version}\n" for version in (5, 9, 10)},
}


@pytest.fixture(scope="module")
def packets():
    """What the packet decoder sees in the capture."""
    decoder = Decoder()
    return [decoder.decode(batch) for batch in pcap.read(CAPTURE)]


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """The datagrams that probes of pmacct send of the capture, all at the same time since each rests for seconds."""
    if shutil.which("pmacctd") is None:
        pytest.skip("pmacctd is not there")
    folder = tmp_path_factory.mktemp("pmacct")
    (folder / "capture.pcap").write_bytes(gzip.decompress(CAPTURE.read_bytes()))
    got = {name: [] for name in PROBES}
    with contextlib.ExitStack() as stack:
        sinks = {name: stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for name in PROBES}
        probes = []
        for name, sink in sinks.items():
            sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
            sink.bind(("127.0.0.1", 0))
            sink.setblocking(False)
            settings = folder / f"{name}.conf"
            text = f"daemonize: false\npcap_savefile: {folder}/capture.pcap\n" + PROBES[name].format(*sink.getsockname())
            settings.write_text(text)
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            probes.append(stack.enter_context(subprocess.Popen(["pmacctd", "-f", settings], **silent)))
            stack.callback(probes[-1].kill)
        ended = False
        while not ended:
            ended = all(probe.poll() is not None for probe in probes)
            for name, sink in sinks.items():
                with contextlib.suppress(BlockingIOError):
                    while True:
                        got[name].append(sink.recv(65535))
            select.select(list(sinks.values()), [], [], 0.05)
    return {name: Datagrams.of(("127.0.0.1", payload, 1) for payload in payloads) for name, payloads in got.items()}


def test_sflow_of_a_real_probe(sent, packets):
    decoder = SflowDecoder()
    flows = decoder.decode(sent["sflow"])
    assert flows.exporters == ("10.1.2.3",)
    x.check_laws(decoder.tally, decoder.exporters)
    if not decoder.tally["datagrams lost"]:
        many = sum(map(len, packets))
        assert many - 10 < len(flows) <= many  # it keeps the last few samples to itself
        octets = np.concatenate([p.octets for p in packets])
        assert flows.octets.sum() == octets[: len(flows)].sum()


@pytest.mark.parametrize("version", [5, 9, 10])
def test_netflow_of_a_real_probe(sent, packets, version):
    decoder = NetflowDecoder()
    flows = decoder.decode(sent[f"version {version}"])
    x.check_laws(decoder.tally, decoder.exporters)
    if not any(decoder.tally[f"{unit} lost"] for unit in ("records", "datagrams")):
        assert flows.packets.sum() == sum(map(len, packets))
    assert {r[x.KEPT.index("dst_port")] for r in rows(flows)} <= {int(p) for part in packets for p in part.dst_port}
    assert np.all(flows.end_ns >= flows.start_ns)
