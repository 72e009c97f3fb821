"""Test native InfiniBand and ERF: down to the BTH, as Wireshark decodes them, and flow records."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import flows_of
from collectors.captures.pcap import read, write
from collectors.packets import infiniband, plain_decoder
from collectors.packets.frame_batch import Batch
from collectors.packets.plain_decoder import BAD, BEYOND, NOT_IP, TRUNCATED, Packet
from tests.collectors.aggregation.test_batch_decoder import assert_same, text
from tests.collectors.builders.frames import reth
from tests.collectors.builders.ibframes import SAMPLES, TCP, WRITE, erf, grh, lrh, transport

BROKEN = {
    "raw": NOT_IP,
    "another version": BAD,
    "too few words": BAD,
    "words for no BTH": BAD,
    "another next header": "not TCP or UDP: protocol 6",
    "GRH of version 4": BAD,
    "nothing": TRUNCATED,
    "ERF, counters": NOT_IP,
    "ERF, extensions without end": TRUNCATED,
    "ERF, nothing": TRUNCATED,
    "RoCE version 1, IP inside": "not TCP or UDP: protocol 6",
    "RDP in IPv6": "not TCP or UDP: protocol 27",
}


def row(frame: bytes, link_type: int = 247) -> Packet:
    found = plain_decoder.unpack(frame, len(frame), link_type)
    assert isinstance(found, Packet), found
    return found


def test_a_packet_of_one_subnet_is_named_by_its_local_identifiers() -> None:
    found = row(lrh(WRITE, 2, slid=0x11, dlid=0xBEEF))
    assert (text(found.src), text(found.dst)) == ("fe80::ff:fe00:11", "fe80::ff:fe00:beef")
    assert infiniband.lid_address(0x11) == found.src
    assert (found.opcode, found.dst_qp, found.sequence, found.octets, found.dma_length) == (10, 0x123456, 0xABCDEF, 64, 64)
    assert (found.protocol, found.src_port, found.dst_port, found.ecn) == (17, 0, 4791, False)


def test_a_packet_with_a_global_route_is_named_by_its_identifiers() -> None:
    found = row(lrh(grh(WRITE, traffic_class=3), 3))
    assert (text(found.src), text(found.dst)) == ("fe80::2:c903:a0:b001", "fe80::2:c903:a0:b002")
    assert (found.octets, found.ecn) == (64, False)  # the mark of InfiniBand is in the BTH
    assert row(lrh(grh(transport(7, b"x" * 64, marked=True)), 3)).ecn


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_have_a_row_or_the_right_reason(name: str) -> None:
    link_type, frame = SAMPLES[name]
    found = plain_decoder.unpack(frame, len(frame), link_type)
    assert found == BROKEN[name] if name in BROKEN else isinstance(found, Packet)
    assert_same(Batch.of([(0, frame, len(frame))], link_type=link_type))


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_cut_anywhere(name: str) -> None:
    link_type, frame = SAMPLES[name]
    assert_same(Batch.of([(n, frame[:n], len(frame)) for n in range(len(frame) + 1)], link_type=link_type))


@given(
    st.sampled_from(sorted(SAMPLES)),
    st.lists(st.tuples(st.integers(0, 150), st.integers(0, 255)), max_size=8),
    st.integers(0, 400),
    st.integers(0, 400),
)
def test_damaged_samples(name: str, changes: list[tuple[int, int]], captured: int, wire: int) -> None:
    link_type, frame = SAMPLES[name]
    octets = bytearray(frame)
    for at, value in changes:
        if octets:
            octets[at % len(octets)] = value
    assert_same(Batch.of([(0, bytes(octets[:captured]), wire), (1, bytes(octets), wire)], link_type=link_type))


def test_a_length_beyond_the_frame_is_refused() -> None:
    long = lrh(transport(7, b"x" * 512), 2)
    short = lrh(WRITE, 2, words=0x7FF)
    batch = Batch.of([(0, long, len(long)), (1, short, len(short))], link_type=247)
    decoder = Decoder()
    assert len(decoder.decode(batch)) == 1
    assert decoder.skipped == {BEYOND: 1}


def test_the_frame_in_a_record_has_the_length_that_the_record_says() -> None:
    """The length is not that of the capture, which may include the record header."""
    frame = erf(2, TCP, extensions=3)
    cut = plain_decoder.unpack(frame[:100], len(TCP), infiniband.ERF)
    assert isinstance(cut, Packet)
    assert cut.octets == 40


def test_messages_become_flow_records(tmp_path: Path) -> None:
    """Build a WRITE of three packets in one subnet, as a capture file."""
    size = 2 * 1024 + 100
    parts = [(6, reth(size) + b"x" * 1024), (7, b"x" * 1024), (8, b"x" * 100)]
    frames = [lrh(transport(opcode, rest, psn=9 + k), 2) for k, (opcode, rest) in enumerate(parts)]
    frames.append(lrh(transport(0x81, bytes(16), marked=True), 2, slid=0x12, dlid=0x11))
    write(tmp_path / "ib.pcap", [(1000 * i, frame, len(frame)) for i, frame in enumerate(frames)], link_type=247)
    decoder = Decoder()
    flows, _, _ = flows_of({"s": (decoder.later(batch) for batch in read(tmp_path / "ib.pcap"))}, decoder.endpoints)
    assert flows.octets.tolist() == [size, 0]
    assert flows.packets.tolist() == [3, 0]
    assert flows.cnp.tolist() == [0, 1]
    assert [flows.endpoints[code] for code in flows.src.tolist()] == ["fe80::ff:fe00:11", "fe80::ff:fe00:12"]


FIELDS = "infiniband.lrh.slid infiniband.lrh.dlid infiniband.bth.opcode infiniband.bth.destqp infiniband.bth.psn"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_the_same(tmp_path: Path) -> None:
    """Use ERF records: older versions lack link type 247."""
    frames = [lrh(WRITE, 2, slid=0x21, dlid=0x22), lrh(grh(WRITE), 3), lrh(transport(17, bytes(4), dst_qp=77, psn=5), 2)]
    frames = [erf(21, frame) for frame in frames]
    write(tmp_path / "ib.pcap", [(i, frame, len(frame)) for i, frame in enumerate(frames)], link_type=infiniband.ERF)
    command = ["tshark", "-n", "-r", str(tmp_path / "ib.pcap"), "-T", "fields", "-E", "separator=;"]
    command += [part for name in FIELDS.split() for part in ("-e", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = [line.split(";") for line in done.stdout.splitlines()]
    ours = [row(frame, infiniband.ERF) for frame in frames]
    assert [[int(n, 0) for n in line[2:]] for line in theirs] == [[r.opcode, r.dst_qp, r.sequence] for r in ours]
    assert [[int(n, 0) for n in line[:2]] for line in theirs] == [[0x21, 0x22], [0x11, 0x12], [0x11, 0x12]]
    assert (text(ours[0].src), text(ours[0].dst)) == ("fe80::ff:fe00:21", "fe80::ff:fe00:22")
