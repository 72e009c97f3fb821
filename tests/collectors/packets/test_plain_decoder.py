from __future__ import annotations

import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.erspan import ERSPAN_I, ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, TCP, UDP, IPOption_Timestamp
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import ARP, GRE, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether, Loopback
from scapy.packet import Packet as Layers
from scapy.packet import Raw

from collectors.packets import headers, plain_decoder, protocols
from collectors.packets.plain_decoder import BAD, FRAGMENT, NESTED, NOT_IP, NOT_TCP_OR_UDP, TRUNCATED, Packet
from tests.collectors.builders import frames
from tests.collectors.builders.frames import SAMPLES, ethernet, ipv4, ipv6, reth, roce, tcp, udp


def row(frame: bytes, link_type: int = 1, wire: int = 0) -> Packet:
    found = plain_decoder.unpack(frame, wire or len(frame), link_type)
    assert isinstance(found, Packet), found
    return found


def address(text: str) -> bytes:
    ip = ipaddress.ip_address(text)
    return ip.packed if ip.version == 6 else plain_decoder.MAPPED + ip.packed


def test_every_field_of_a_tcp_packet() -> None:
    frame = ethernet(ipv4(tcp(b"x" * 40), tos=0xB8 | 3))
    src, dst = address(frames.ONE), address(frames.TWO)
    assert row(frame) == Packet(src, dst, 1000, 2000, 6, 40, 77, True, 3_000_000_000, 4_000_000_000, 0x18, -1, 0, -1)


def test_every_field_of_a_roce_packet() -> None:
    frame = ethernet(ipv6(roce(6, reth(1 << 20) + b"x" * 64, psn=0x80ABCDEF), 17), headers.IPV6)
    src, dst = address(frames.SIX), address(frames.SEVEN)
    assert row(frame) == Packet(src, dst, 50_000, 4791, 17, 64, 99, False, 0xABCDEF, 0, 0, 6, 0x123456, 1 << 20)


PAYLOAD = Raw(b"x" * 33)
SCAPY = (
    Ether() / IP() / TCP() / PAYLOAD,
    Ether() / Dot1Q(vlan=5, prio=3) / IP(tos=3) / TCP(flags="SA", seq=2**32 - 1, ack=5) / PAYLOAD,
    Ether() / Dot1AD(vlan=5) / Dot1Q(vlan=6) / IP() / UDP() / PAYLOAD,
    Ether() / Dot1AD(vlan=5) / Dot1AD(vlan=6) / Dot1Q(vlan=7) / IPv6(fl=77, tc=3) / UDP() / PAYLOAD,
    Ether() / IP(options=[IPOption_Timestamp()]) / TCP(options=[("Timestamp", (1, 2)), ("MSS", 1460)]) / PAYLOAD,
    Ether() / IPv6() / TCP(options=[("SAckOK", b"")]) / PAYLOAD,
    Ether() / IPv6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting(addresses=["fd00::1", "fd00::2"]) / TCP() / PAYLOAD,
    Ether() / IPv6() / IPv6ExtHdrDestOpt() / AH(nh=17, payloadlen=4, icv=b"y" * 12, padding=b"") / UDP() / PAYLOAD,
    Ether() / Dot1Q() / IPv6() / IPv6ExtHdrHopByHop() / IPv6ExtHdrFragment(offset=0, m=0) / UDP() / PAYLOAD,
    CookedLinux() / IP() / TCP() / PAYLOAD,
    CookedLinux() / Dot1Q() / IPv6() / TCP() / PAYLOAD,
    CookedLinuxV2() / IP() / UDP() / PAYLOAD,
    IP() / TCP() / PAYLOAD,
    IPv6() / UDP() / PAYLOAD,
    Loopback(type=2) / IP() / TCP() / PAYLOAD,
    Loopback(type=socket.AF_INET6) / IPv6() / TCP() / PAYLOAD,
)
LINK_TYPES = {Ether: 1, CookedLinux: 113, CookedLinuxV2: 276, IP: 101, IPv6: 101, Loopback: 0}


@pytest.mark.parametrize("built", SCAPY, ids=lambda p: p.summary())
def test_scapy_builds_what_we_read(built: Layers) -> None:
    link_type = LINK_TYPES[type(built)]
    frame = bytes(built)
    layers = type(built)(frame)
    found = row(frame, link_type)
    ip = layers[IP] if IP in layers else layers[IPv6]
    upper = built[TCP] if TCP in built else built[UDP]
    assert (found.src, found.dst) == (address(ip.src), address(ip.dst))
    assert (found.src_port, found.dst_port, found.octets) == (upper.sport, upper.dport, 33)
    assert found.ecn == ((ip.tos if IP in layers else ip.tc) & 3 == 3)
    assert found.ip_id == (ip.id if IP in layers else ip.fl)
    if TCP in built:
        assert found[8:11] == (upper.seq, upper.ack, int(upper.flags))


MIRRORED = Ether() / Dot1Q(vlan=5) / IP(src="10.0.0.7", tos=3) / TCP(sport=5, flags="PA", seq=9) / PAYLOAD
OUTER = Ether() / IP(src="10.255.0.1", dst="10.255.0.2")


@pytest.mark.parametrize(
    "built",
    [
        OUTER / GRE(proto=0x88BE) / ERSPAN_I() / MIRRORED,
        OUTER / GRE(seqnum_present=1, sequence_number=3) / ERSPAN_II(session_id=9) / MIRRORED,
        OUTER / GRE(seqnum_present=1, sequence_number=3) / ERSPAN_III(session_id=9) / MIRRORED,
        OUTER / GRE(seqnum_present=1) / ERSPAN_III(o=1) / ERSPAN_PlatformSpecific() / MIRRORED,
        OUTER / GRE(proto=0x6558, key_present=1, key=77, chksum_present=1) / MIRRORED,
        OUTER / GRE() / MIRRORED[IP],
        Ether() / IPv6() / GRE() / MIRRORED[IP],
    ],
    ids=lambda p: p.summary(),
)
def test_scapy_builds_mirrored_packets_we_read(built: Layers) -> None:
    found, bare = row(bytes(built)), row(bytes(MIRRORED))
    assert found == bare
    assert bare.src == address("10.0.0.7")


def test_tunnels_in_tunnels_end_somewhere() -> None:
    inner = ipv4(tcp(b"x"))
    for depth in range(8):
        found = plain_decoder.unpack(inner, len(inner), 101)
        assert found == NESTED if depth > protocols.MOST_TUNNELS else isinstance(found, Packet)
        inner = ipv4(frames.gre(inner, headers.IPV4), headers.GRE)


@pytest.mark.parametrize(("opcode", "upper"), [(17, AETH(msn=5)), (4, Raw(b"z" * 64)), (0x24, Raw(b"z" * 64))])
def test_scapy_builds_roce_we_read(opcode: int, upper: Layers) -> None:
    frame = bytes(Ether() / IP() / UDP(sport=49_152) / BTH(opcode=opcode, dqpn=0xFEDCBA, psn=0x10203, ackreq=1) / upper)
    found = row(frame)
    assert (found.dst_port, found.opcode, found.dst_qp, found.sequence) == (4791, opcode, 0xFEDCBA, 0x10203)
    assert found.octets == (0 if opcode == 17 else 64)


@pytest.mark.parametrize(
    ("opcode", "headers", "dma_length"),
    [
        (0, b"", -1),  # RC SEND First, Middle, Last, Last with immediate, Only with immediate
        (1, b"", -1),
        (2, b"", -1),
        (3, bytes(4), -1),
        (5, bytes(4), -1),
        (6, reth(7000), 7000),  # WRITE First, Middle, Last with immediate, Only, Only with immediate
        (7, b"", -1),
        (9, bytes(4), -1),
        (10, reth(7000), 7000),
        (11, reth(7000) + bytes(4), 7000),
        (12, reth(7000), 7000),  # READ Request, Response First, Middle, Only
        (13, bytes(4), -1),
        (14, b"", -1),
        (16, bytes(4), -1),
        (17, bytes(4), -1),  # ACK, atomic ACK, CmpSwap, SEND Last with invalidate
        (18, bytes(12), -1),
        (19, bytes(28), -1),
        (22, bytes(4), -1),
        (0x20 | 6, reth(2**32 - 1), 2**32 - 1),  # UC WRITE First
        (0x64, bytes(8), -1),  # UD SEND Only, with immediate
        (0x65, bytes(12), -1),
        (0x40 | 6, bytes(12) + reth(7000), 7000),  # RD WRITE First, READ Response First
        (0x40 | 13, bytes(8), -1),
        (0xA0 | 6, bytes(4) + reth(7000), 7000),  # XRC WRITE First, ACK
        (0xA0 | 17, bytes(4), -1),
        (0x81, bytes(16), -1),  # CNP
    ],
)
@pytest.mark.parametrize("pad", [0, 3])
def test_roce_payload_leaves_out_headers_pad_and_icrc(opcode: int, headers: bytes, dma_length: int, pad: int) -> None:
    found = row(ethernet(ipv4(roce(opcode, headers + b"x" * 32 + bytes(pad), pad=pad), 17)))
    assert (found.opcode, found.octets, found.dma_length) == (opcode, 32, dma_length)


def test_only_the_destination_port_makes_roce() -> None:
    payload = frames.bth(6) + reth(7000) + bytes(4)
    assert row(ethernet(ipv4(udp(payload, ports=(4791, 69)), 17))).opcode == -1
    assert row(ethernet(ipv4(udp(payload, ports=(69, 4791)), 17))).opcode == 6


@pytest.mark.parametrize("captured", [68, 80, 96, 200])
def test_a_snapped_packet_counts_what_was_on_the_wire(captured: int) -> None:
    frame = ethernet(ipv4(tcp(b"x" * 1448, options=bytes(12))))
    assert row(frame[:captured], wire=len(frame)).octets == 1448
    assert row(frame[:captured]).octets == 1448  # cut by a mirror port, which leaves the file no other length


@pytest.mark.parametrize(("captured", "dma_length"), [(54, -1), (69, -1), (70, 7000)])
def test_a_snapped_roce_packet_needs_its_bth_only(captured: int, dma_length: int) -> None:
    frame = ethernet(ipv4(roce(6, reth(7000) + b"x" * 4096), 17))
    found = row(frame[:captured], wire=len(frame))
    assert (found.octets, found.dma_length, found.dst_qp) == (4096, dma_length, 0x123456)


def test_padding_of_short_frames_is_no_payload() -> None:
    frame = ethernet(ipv4(tcp(b"x" * 2))).ljust(60, b"\0")
    assert row(frame).octets == 2


@pytest.mark.parametrize("network", [ipv4(tcp(), length=0), ipv6(tcp(), length=0)])
def test_without_a_length_in_the_ip_header_the_wire_length_counts(network: bytes) -> None:
    frame = ethernet(network, headers.IPV4 if network[0] >> 4 == 4 else headers.IPV6)
    assert row(frame, wire=len(frame) + 180_000).octets == 180_000


@pytest.mark.parametrize(
    ("reason", "frame"),
    [
        (f"{NOT_IP}: ARP (EtherType 0x0806)", bytes(Ether() / ARP())),
        (f"{NOT_IP}: {protocols.LLC_NAME}", ethernet(b"\x42\x42\x03" + bytes(40), 43)),
        (f"{NOT_IP}: EtherType 0x1234", ethernet(bytes(40), 0x1234)),
        (f"{NOT_TCP_OR_UDP}: ICMP (protocol 1)", ethernet(ipv4(bytes(8), 1))),
        (f"{NOT_TCP_OR_UDP}: protocol 200", ethernet(ipv4(bytes(8), 200))),
        (f"{NOT_TCP_OR_UDP}: ICMPv6 (protocol 58)", ethernet(ipv6(bytes(8), 58), headers.IPV6)),
        (f"{NOT_TCP_OR_UDP}: no next header (protocol 59)", ethernet(ipv6(b"", 59, length=0), headers.IPV6)),
        (FRAGMENT, ethernet(ipv4(tcp(), fragment=0x2000))),
        (FRAGMENT, ethernet(ipv4(b"x" * 80, fragment=100))),
        (FRAGMENT, ethernet(ipv6(bytes((6, 0, 0, 1)) + bytes(4) + tcp(), 44), headers.IPV6)),
        (FRAGMENT, ethernet(ipv6(bytes((6, 0, 0, 8)) + bytes(4) + b"x" * 80, 44), headers.IPV6)),
        (BAD, ethernet(ipv6(tcp()))),  # announced as version 4
        (BAD, ethernet(ipv4(tcp()), headers.IPV6)),
        (BAD, ethernet(b"\x44" + ipv4(tcp())[1:])),
        (BAD, ethernet(ipv4(tcp(), length=39))),
        (BAD, ethernet(ipv4(tcp(), length=19))),
        (BAD, ethernet(ipv4(tcp()[:12] + b"\x40" + tcp()[13:]))),
        (BAD, ethernet(ipv4(udp(), 17, length=27))),
        (BAD, ethernet(ipv4(udp(bytes(11), ports=(1, 4791)), 17))),
        (BAD, ethernet(ipv6(bytes((6, 9)) + bytes(6) + tcp(), 0), headers.IPV6)),
        (TRUNCATED, b""),
    ],
)
def test_reasons(reason: str, frame: bytes) -> None:
    assert plain_decoder.unpack(frame, len(frame), 1) == reason


@pytest.mark.parametrize("link_type", [2, 105, 147, -1, 2**31])
def test_other_link_types_have_their_number_as_reason(link_type: int) -> None:
    assert plain_decoder.unpack(bytes(64), 64, link_type) == f"unknown link type {link_type}"


@pytest.mark.parametrize(("link_type", "frame"), SAMPLES)
def test_a_frame_cut_anywhere_is_the_same_or_truncated(link_type: int, frame: bytes) -> None:
    whole = plain_decoder.unpack(frame, len(frame), link_type)
    for captured in range(len(frame)):
        cut = plain_decoder.unpack(frame[:captured], len(frame), link_type)
        if isinstance(cut, Packet) and isinstance(whole, Packet):
            assert cut._replace(dma_length=whole.dma_length, syndrome=whole.syndrome) == whole
        else:
            assert cut in (TRUNCATED, whole)


@given(
    st.binary(max_size=200),
    st.integers(0, 2**32 - 1),
    st.sampled_from((1, 113, 276, 101, 12, 14, 228, 229, 0, 108, 147)),
)
def test_arbitrary_octets_have_a_row_or_a_reason(frame: bytes, wire: int, link_type: int) -> None:
    found = plain_decoder.unpack(frame, wire, link_type)
    if isinstance(found, str):
        named = found.startswith((f"{NOT_IP}: ", f"{NOT_TCP_OR_UDP}: "))
        assert named or found in plain_decoder.REASONS or found == f"unknown link type {link_type}"
    else:
        assert found.octets >= 0
        assert found.protocol in (6, 17)
