"""The same packets, read by us and by Wireshark's dissectors (tshark, through pyshark)."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyshark
import pytest
from pyshark.capture.capture import TSharkCrashException
from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet as Layers
from scapy.packet import Raw

from collectors.aggregation.batch_decoder import Decoder
from collectors.captures.pcap import read, write
from collectors.columns.record import Packets
from collectors.packets import headers
from collectors.packets.headers import ERSPAN, GRE
from tests.collectors.builders import frames
from tests.collectors.builders.tunnelled import TUNNELLED

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

OPTIONS = ("--disable-protocol", "tftp", "-o", "tcp.relative_sequence_numbers:FALSE")
START = 1_795_214_542_677_184_076
ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
V4, V6 = IP(src="10.0.0.1", dst="10.0.0.2"), IPv6(src="fd00::6", dst="fd00::7")
PAYLOAD = Raw(b"x" * 100)
RETH = Raw((1 << 40).to_bytes(8, "big") + (9).to_bytes(4, "big") + (70_000).to_bytes(4, "big"))


def roce(opcode: int, psn: int, source_port: int = 49_152) -> Layers:
    return UDP(sport=source_port, dport=4791) / BTH(opcode=opcode, dqpn=0xFEDCBA, psn=psn)


BUILT = (
    ETHER / V4 / TCP(sport=40_000, dport=50_000, seq=3_000_000_000, ack=4_000_000_000, flags="PA") / PAYLOAD,
    ETHER / V4 / TCP(sport=40_000, dport=50_000, flags="S", options=[("MSS", 1460), ("Timestamp", (1, 2))]),
    ETHER / Dot1Q(vlan=5) / V4 / TCP(sport=1, dport=2, flags="A") / PAYLOAD,
    ETHER / Dot1AD(vlan=5) / Dot1Q(vlan=6) / IP(src="10.0.0.3", dst="10.0.0.4", tos=3) / UDP(sport=7001, dport=7002) / PAYLOAD,
    ETHER / V6 / TCP(sport=40_000, dport=50_000, seq=7, ack=8, flags="A") / PAYLOAD,
    ETHER / Dot1Q(vlan=5) / V6 / IPv6ExtHdrHopByHop() / UDP(sport=7001, dport=7002) / PAYLOAD,
    ETHER / V4 / roce(4, 0xABCDEF) / PAYLOAD,
    ETHER / V4 / roce(4, 5, source_port=69) / PAYLOAD,  # TFTP's port: the hash that spreads flows may give any
    ETHER / Dot1Q(vlan=5) / V4 / roce(6, 6) / RETH / PAYLOAD,
    ETHER / V6 / roce(7, 7) / PAYLOAD,
    ETHER / V4 / roce(17, 8) / AETH(syndrome=0, msn=5),
    ETHER / V6 / roce(17, 9) / AETH(syndrome=0x60, msn=5),
)


def ours(path: Path) -> list[dict[str, Any]]:
    decoder = Decoder()
    return [row for batch in read(path) for row in our_rows(decoder.decode(batch), decoder.endpoints)]


def our_rows(packets: Packets, endpoints: list[str]) -> Iterator[dict[str, Any]]:
    for p in zip(*(getattr(packets, f.name).tolist() for f in fields(packets)), strict=True):
        named = dict(zip((f.name for f in fields(packets)), p, strict=True))
        row = {name: named[name] for name in ("time_ns", "ecn", "octets")}
        row |= {"src": endpoints[named["src"]], "dst": endpoints[named["dst"]]}
        row["ports"] = named["src_port"], named["dst_port"]
        if named["protocol"] == 6:
            row |= {"sequence": named["sequence"], "acknowledgment": named["acknowledgment"], "flags": named["tcp_flags"]}
        elif named["opcode"] >= 0:
            row |= {name: named[name] for name in ("opcode", "dst_qp", "dma_length", "syndrome")} | {"psn": named["sequence"]}
        yield row


def theirs(path: Path) -> list[dict[str, Any]]:
    loop = asyncio.new_event_loop()  # to choose one by itself, pyshark calls what is deprecated
    capture = pyshark.FileCapture(str(path), custom_parameters=list(OPTIONS), keep_packets=False, eventloop=loop)
    try:
        return [their_row(packet) for packet in capture]
    finally:
        with suppress(TSharkCrashException):  # so it says of a tshark that is gone before it is killed; all packets are here
            capture.close()
        capture._running_processes.clear()  # else its destructor closes it again
        loop.close()


def their_row(packet: Any) -> dict[str, Any]:
    ip, upper = packet["ip" if "IP" in packet else "ipv6"], packet[packet.transport_layer]
    seconds, _, fraction = packet.frame_info.time_epoch.partition(".")
    row: dict[str, Any] = {
        "time_ns": int(seconds + fraction),
        "src": str(ip.src),
        "dst": str(ip.dst),
        "ports": (int(upper.srcport), int(upper.dstport)),
        "ecn": int(ip.dsfield_ecn if "IP" in packet else ip.tclass_ecn) == 3,
    }
    if "TCP" in packet:
        numbers = {"sequence": int(upper.seq), "acknowledgment": int(upper.ack), "flags": int(upper.flags, 16)}
        return row | numbers | {"octets": int(upper.len)}
    if "INFINIBAND" not in packet:
        return row | {"octets": int(upper.length) - 8}
    bth = packet.infiniband
    numbers = {"opcode": int(bth.bth_opcode), "dst_qp": int(bth.bth_destqp, 16), "psn": int(bth.bth_psn)}
    octets = int(packet.data.data_len) if "DATA" in packet else 0
    syndrome = int(getattr(bth, "aeth_syndrome", "-1"), 0)
    return row | numbers | {"dma_length": int(getattr(bth, "reth_dmalen", -1)), "syndrome": syndrome, "octets": octets}


def test_inside_vxlan_is_what_would_be_there_without(tmp_path: Path) -> None:
    """What scapy wraps into VXLAN has the rows of what it wrapped."""
    bare = [bytes(layers) for layers in BUILT]
    tunnel = ETHER / IP(src="192.168.0.1", dst="192.168.0.2") / UDP(sport=5000, dport=4789) / VXLAN(vni=7)
    write(tmp_path / "bare.pcap", [(START + i, frame, len(frame)) for i, frame in enumerate(bare)])
    wrapped = [bytes(tunnel / layers) for layers in BUILT]
    write(tmp_path / "wrapped.pcap", [(START + i, frame, len(frame)) for i, frame in enumerate(wrapped)])
    assert ours(tmp_path / "wrapped.pcap") == ours(tmp_path / "bare.pcap")


FIELDS = {
    "frame": ("frame.protocols",),
    "ip": ("ip.src", "ip.dst", "ipv6.src", "ipv6.dst"),
    "ports": ("tcp.srcport", "tcp.dstport", "udp.srcport", "udp.dstport"),
    "tcp": ("tcp.seq", "tcp.ack", "tcp.flags", "tcp.len"),
    "bth": ("infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"),
    "more": ("infiniband.reth.dmalen", "infiniband.aeth.syndrome", "data.len"),
}
WRAPS = {
    "type I": lambda frame: frames.ipv4(frames.gre(frame, ERSPAN), GRE, src="192.168.0.1", dst="192.168.0.2"),
    "type II": lambda frame: frames.ipv4(frames.erspan(frame), GRE, src="192.168.0.1", dst="192.168.0.2"),
    "type III": lambda frame: frames.ipv4(frames.erspan3(frame), GRE, src="192.168.0.1", dst="192.168.0.2"),
    "type III, with a platform's header": lambda frame: frames.ipv4(frames.erspan3(frame, platform=bytes(8)), GRE),
    "type II over IPv6": lambda frame: frames.ipv6(frames.erspan(frame), GRE, src="fd00::1", dst="fd00::2"),
    "type III over IPv6": lambda frame: frames.ipv6(frames.erspan3(frame), GRE, src="fd00::1", dst="fd00::2"),
}


def told(path: Path, *more: str) -> list[dict[str, str]]:
    """What tshark says of the innermost packet of each frame; of a layer that occurs twice, the last one."""
    names = [name for names in FIELDS.values() for name in names]
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "occurrence=l", "-E", "separator=|", *OPTIONS, *more]
    lines = subprocess.run([*command, *(word for n in names for word in ("-e", n))], capture_output=True, text=True, check=True)
    return [dict(zip(names, line.split("|"), strict=True)) for line in lines.stdout.splitlines()]


AS = (
    "udp.port==8472,vxlan",
    "udp.port==14789,vxlan",
    "udp.port==14790,vxlan_gpe",
    "udp.port==16081,geneve",
    "mpls.label==19,pwethcw",
    "mpls.label==20,pwethnocw",
)
# FabricPath: Wireshark takes the last 4 octets for a check sequence. The others it does not know, or is not told of here.
NOT_THERE = {"VLAN tag 0x9200", "VLAN tag 0x9300", "FabricPath", "GUE", "GUE, variant 1"}
NOT_THERE |= {"L2TPv3", "L2TPv3, cookie", "L2TPv3 in UDP"}


def test_wireshark_reads_the_same_in_each_kind_of_tag_and_tunnel(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    write(path, [(START + i, frame, len(frame)) for i, frame in enumerate(TUNNELLED.values())])
    found = ours(path)
    assert len(found) == len(TUNNELLED)
    for name, row, said in zip(TUNNELLED, found, told(path, *(word for how in AS for word in ("-d", how))), strict=True):
        if name not in NOT_THERE:
            ip = "ipv6" if ":" in row["src"] else "ip"
            assert (name, row["src"], row["dst"]) == (name, said[f"{ip}.src"], said[f"{ip}.dst"])
            assert row["ports"] == (int(said["tcp.srcport"]), int(said["tcp.dstport"]))
            assert (row["sequence"], row["octets"]) == (int(said["tcp.seq"]), int(said["tcp.len"]))


@pytest.mark.parametrize("kind", WRAPS)
def test_wireshark_reads_the_same_inside_erspan(kind: str, tmp_path: Path) -> None:
    """Of mirrored frames, each of which scapy built, tshark says what we say, and that they are of this type of ERSPAN."""
    bare = [bytes(layers) for layers in BUILT]
    outer = headers.IPV6 if "IPv6" in kind else headers.IPV4
    wrapped = [frames.ethernet(WRAPS[kind](frame), outer) for frame in bare]
    write(tmp_path / "a.pcap", [(START + i, frame, len(frame)) for i, frame in enumerate(wrapped)])
    found, theirs_ = ours(tmp_path / "a.pcap"), told(tmp_path / "a.pcap")
    assert len(found) == len(theirs_) == len(BUILT)
    for row, said in zip(found, theirs_, strict=True):
        assert "erspan" in said["frame.protocols"]
        assert said["frame.protocols"].rpartition("erspan")[2].startswith(":eth")
        ip = "ipv6" if ":" in row["src"] else "ip"
        assert (row["src"], row["dst"]) == (said[f"{ip}.src"], said[f"{ip}.dst"])
        upper = "tcp" if "sequence" in row else "udp"
        assert row["ports"] == (int(said[f"{upper}.srcport"]), int(said[f"{upper}.dstport"]))
        if "sequence" in row:
            assert (row["sequence"], row["acknowledgment"]) == (int(said["tcp.seq"]), int(said["tcp.ack"]))
            assert (row["flags"], row["octets"]) == (int(said["tcp.flags"], 16), int(said["tcp.len"]))
        if "opcode" in row:
            bth = said["infiniband.bth.opcode"], int(said["infiniband.bth.destqp"], 16), said["infiniband.bth.psn"]
            assert (str(row["opcode"]), row["dst_qp"], str(row["psn"])) == bth
            assert row["dma_length"] == int(said["infiniband.reth.dmalen"] or -1)
            assert row["syndrome"] == int(said["infiniband.aeth.syndrome"] or "-1", 0)
            assert row["octets"] == int(said["data.len"] or 0)
    bare_path = tmp_path / "bare.pcap"
    write(bare_path, [(START + i, frame, len(frame)) for i, frame in enumerate(bare)])
    assert found == ours(bare_path)


def test_wireshark_reads_the_same(tmp_path: Path) -> None:
    built = [bytes(layers) for layers in BUILT]
    write(tmp_path / "a.pcap", [(START + i, frame, len(frame)) for i, frame in enumerate(built)])
    found = ours(tmp_path / "a.pcap")
    assert len(found) == len(BUILT)
    assert found == theirs(tmp_path / "a.pcap")
