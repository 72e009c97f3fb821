"""Captured exports; and exports of real exporters, by pmacct's probes, against what our own packet decoder sees."""

import contextlib
import gzip
import select
import shutil
import socket
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import pcap
from collectors.batch import Batch
from collectors.datagrams import Datagrams
from collectors.exported import exports, is_netflow, is_sflow, split
from collectors.fastpath import Decoder
from collectors.netflow import NetflowDecoder
from collectors.sflow import SflowDecoder
from tests.collectors import exports as x
from tests.collectors import frames
from tests.collectors.exports import flow_sample, ipfix, raw_header, record, rows, set_, sflow, template

CAPTURE = Path(__file__).parents[2] / "pcaps" / "two_jobs" / "leaf0.pcap.gz"
FLOW = ipfix(template(300), set_(300, record()))
SAMPLE = sflow(flow_sample(raw_header(frames.ethernet(frames.ipv4(frames.tcp(b"x"))))))


def carried(payload, port, *, six=False):
    udp = frames.udp(payload, ports=(50_000, port))
    return frames.ethernet(frames.ipv6(udp, 17), 0x86DD) if six else frames.ethernet(frames.ipv4(udp, 17), tags=(0x8100,))


def found(*given):
    skipped = Counter()
    batch = Batch.of([(i, frame, len(frame)) for i, frame in enumerate(given)])
    return exports(batch, skipped), skipped


def test_exports_in_captured_frames_and_who_sent_them():
    fragment = frames.ethernet(frames.ipv4(frames.udp(FLOW, ports=(1, 4739)), 17, fragment=0x2000))
    others = (carried(b"GET /", 2055), carried(FLOW, 53), frames.ethernet(frames.ipv4(frames.tcp())), fragment)
    datagrams, skipped = found(carried(FLOW, 4739), carried(SAMPLE, 6343, six=True), *others, carried(FLOW, 4739)[:30])
    assert skipped == {"no export": 1, "other port": 1, "not udp": 1, "fragment": 1, "truncated header": 1}
    assert (datagrams.senders, datagrams.received_ns.tolist()) == ((frames.ONE, frames.SIX), [0, 1])
    netflow, samples = split(datagrams)
    assert len(NetflowDecoder().decode(netflow)) == len(SflowDecoder().decode(samples)) == 1
    assert [is_sflow(p) for p in (FLOW, SAMPLE)] == [is_netflow(SAMPLE), is_netflow(FLOW)] == [False, True]


def test_other_link_layers_and_extension_headers():
    inside = frames.ipv6(bytes((17, 0)) + bytes(6) + frames.udp(FLOW, ports=(1, 2055)), 0)
    skipped = Counter()
    for link_type, frame in (
        (101, inside),
        (0, b"\x1e\0\0\0" + inside),
        (113, bytes(14) + b"\x86\xdd" + inside),
        (999, inside),
    ):
        assert len(exports(Batch.of([(0, frame, len(frame))], link_type=link_type), skipped)) == (link_type != 999)
    assert skipped == {"link type 999": 1}


@given(st.sampled_from([1, 0, 101, 113, 276]), st.binary(max_size=80))
def test_arbitrary_frames(link_type, frame):
    skipped = Counter()
    datagrams = exports(Batch.of([(0, frame, len(frame))], link_type=link_type), skipped)
    assert len(datagrams) + sum(skipped.values()) == 1


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
