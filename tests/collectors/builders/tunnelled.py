"""One TCP packet in each kind of tag, label and tunnel: frames by name, and the same packet bare."""

from __future__ import annotations

from scapy.contrib.erspan import ERSPAN_II
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.contrib.mpls import MPLS, EoMCW
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
from scapy.layers.l2 import GRE, GRE_PPTP, LLC, SNAP, Dot1AD, Dot1AH, Dot1Q, Ether
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet as Layers
from scapy.packet import Raw

BARE = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
ETHER = Ether(src="02:00:00:00:00:03", dst="02:00:00:00:00:04")
OUTER, OUTER6 = IP(src="192.0.2.1", dst="192.0.2.2"), IPv6(src="2001:db8::1", dst="2001:db8::2")
PACKET = IP(src="10.0.0.1", dst="10.0.0.2", id=7) / TCP(sport=40_000, dport=50_000, flags="PA", seq=9) / Raw(b"x" * 77)
PACKET6 = IPv6(src="fd00::1", dst="fd00::2") / TCP(sport=40_000, dport=50_000, flags="PA", seq=9) / Raw(b"x" * 77)
FRAME = BARE / PACKET
IPV4 = b"\x08\x00"


def typed(ethertype: int, head: bytes, rest: Layers = PACKET) -> Layers:
    return Ether(src=ETHER.src, dst=ETHER.dst, type=ethertype) / Raw(head + bytes(rest))


def carried(protocol: int, head: bytes, rest: Layers) -> Layers:
    return ETHER / IP(src="192.0.2.1", dst="192.0.2.2", proto=protocol) / Raw(head + bytes(rest))


def in_udp(port: int, head: bytes, rest: Layers) -> Layers:
    return ETHER / OUTER / UDP(sport=55_555, dport=port) / Raw(head + bytes(rest))


LABEL = MPLS(label=17, s=0) / MPLS(label=18, s=1)
BUILT: dict[str, Layers] = {
    "VLAN tags": ETHER / Dot1AD(vlan=5) / Dot1Q(vlan=6) / PACKET,
    "VLAN tag 0x9200": typed(0x9200, b"\0\5" + IPV4),
    "VLAN tag 0x9300": typed(0x9300, b"\0\5" + IPV4),
    "VN-Tag": typed(0x8926, bytes(4) + IPV4),
    "VN-Tag and VLAN": typed(0x8926, bytes(4) + b"\x81\0\0\5" + IPV4),
    "E-TAG": typed(0x893F, bytes(6) + IPV4),
    "Cisco metadata": typed(0x8909, b"\1\1\0\1\0\5" + IPV4),
    "TTag": typed(0x8988, bytes(6) + IPV4),
    "R-TAG": typed(0xF1C1, bytes(4) + IPV4),
    "HSR": typed(0x892F, b"\0\x40\0\1" + IPV4),
    "Arista, 64 bits": typed(0xD28B, b"\0\1\0\x10" + bytes(8) + IPV4),
    "Arista, 48 bits": typed(0xD28B, b"\0\1\1\x20" + bytes(6) + IPV4),
    "PBB": ETHER / Dot1AD(vlan=5) / Dot1AH(isid=9) / FRAME,
    "FabricPath": typed(0x8903, bytes(2), FRAME),
    "TRILL": typed(0x22F3, bytes(6), FRAME),
    "MACsec in the clear": typed(0x88E5, bytes(6) + IPV4, Raw(bytes(PACKET) + bytes(16))),
    "MACsec in the clear, SCI": typed(0x88E5, b"\x20" + bytes(13) + IPV4, Raw(bytes(PACKET) + bytes(16))),
    "MPLS": ETHER / LABEL / PACKET,
    "MPLS, IPv6": ETHER / LABEL / PACKET6,
    "MPLS, multicast": typed(0x8848, bytes(LABEL)),
    "MPLS, control word": ETHER / MPLS(label=19, s=1) / EoMCW() / FRAME,
    "MPLS, frame": ETHER / MPLS(label=20, s=1) / FRAME,
    "PPPoE": ETHER / PPPoE(sessionid=5) / PPP() / PACKET,
    "NSH, frame": typed(0x894F, bytes(NSH(nextproto=3)), FRAME),
    "NSH, packet": typed(0x894F, bytes(NSH(nextproto=1))),
    "SNAP": Ether(src=ETHER.src, dst=ETHER.dst, type=125) / LLC() / SNAP() / PACKET,
    "IPIP": ETHER / OUTER / PACKET,
    "IPv4 in IPv6": ETHER / OUTER6 / PACKET,
    "IPv6 in IPv4": ETHER / OUTER / PACKET6,
    "GRE with key": ETHER / OUTER / GRE(key_present=1, key=7) / PACKET,
    "GRE with all": ETHER / OUTER / GRE(key_present=1, key=7, chksum_present=1, seqnum_present=1) / PACKET,
    "GRE, IPv6": ETHER / OUTER6 / GRE(key_present=1, key=7) / PACKET6,
    "NVGRE": ETHER / OUTER / GRE(key_present=1, key=7, proto=0x6558) / FRAME,
    "GRE, MPLS": ETHER / OUTER / GRE(proto=0x8847) / LABEL / PACKET,
    "GRE, NSH": ETHER / OUTER / GRE(proto=0x894F) / Raw(bytes(NSH(nextproto=3)) + bytes(FRAME)),
    "PPTP": ETHER / OUTER / GRE_PPTP(call_id=5, seqnum_present=1, acknum_present=1) / Raw(b"\xff\x03\0\x21" + bytes(PACKET)),
    "ERSPAN": ETHER / OUTER / GRE(seqnum_present=1) / ERSPAN_II(session_id=9) / FRAME,
    "ERSPAN of VXLAN": ETHER / OUTER / GRE(seqnum_present=1) / ERSPAN_II() / BARE / OUTER / UDP(dport=4789) / VXLAN() / FRAME,
    "EtherIP": carried(97, b"\x30\0", FRAME),
    "L2TPv3": carried(115, b"\0\0\0\5", FRAME),
    "L2TPv3, cookie": carried(115, b"\0\0\0\5" + b"\xc0" * 8, FRAME),
    "MPLS in IP": carried(137, bytes(LABEL), PACKET),
    "SRv6": ETHER / OUTER6 / IPv6ExtHdrSegmentRouting(addresses=["2001:db8::9"], nh=4) / PACKET,
    "SRv6, frame": ETHER / IPv6(src="2001:db8::1", dst="2001:db8::2", nh=143) / Raw(bytes(FRAME)),
    "VXLAN": ETHER / OUTER / UDP(sport=55_555, dport=4789) / VXLAN(vni=7) / FRAME,
    "VXLAN, port of Linux": in_udp(8472, bytes(VXLAN(vni=7, flags=8)), FRAME),
    "VXLAN, another port": in_udp(14_789, bytes(VXLAN(vni=7, flags=8)), FRAME),
    "VXLAN-GPE": in_udp(4790, b"\x0c\0\0\1\0\0\7\0", PACKET),
    "VXLAN-GPE, frame": in_udp(4790, b"\x0c\0\0\3\0\0\7\0", FRAME),
    "VXLAN-GPE, NSH": in_udp(4790, b"\x0c\0\0\4\0\0\7\0" + bytes(NSH(nextproto=3)), FRAME),
    "Geneve": ETHER / OUTER / UDP(sport=55_555, dport=6081) / GENEVE(vni=7) / FRAME,
    "Geneve, options": in_udp(6081, b"\2\0\x65\x58\0\0\7\0" + b"\1\2\3\1" + bytes(4), FRAME),
    "Geneve, packet": in_udp(6081, b"\0\0\x08\0\0\0\7\0", PACKET),
    "Geneve, another port": in_udp(16_081, b"\1\0\x65\x58\0\0\7\0" + b"\1\2\3\0", FRAME),
    "Geneve, packet, another port": in_udp(16_081, b"\0\x80\x86\xdd\0\0\7\0", PACKET6),
    "VXLAN-GPE, another port": in_udp(14_790, b"\x0c\0\0\3\0\0\7\0", FRAME),
    "VXLAN-GPE, packet, another port": in_udp(14_790, b"\x0c\0\0\1\0\0\7\0", PACKET),
    "authentication header": carried(51, b"\4\4" + bytes(22), PACKET),
    "GTP-U": ETHER / OUTER / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5) / PACKET,
    "GTP-U, sequence": in_udp(2152, b"\x32\xff\0\x79\0\0\0\5\0\1\0\0", PACKET),
    "GTP-U, extension": ETHER
    / OUTER
    / UDP(sport=2152, dport=2152)
    / GTP_U_Header(teid=5, gtp_type=255, E=1, next_ex=0x85)
    / GTPPDUSessionContainer(type=1, QFI=5)
    / PACKET,
    "GUE": in_udp(6080, b"\0\4\0\0", PACKET),
    "GUE, variant 1": in_udp(6080, b"", PACKET),
    "L2TP": in_udp(1701, b"\0\2\0\5\0\6\xff\3\0\x21", PACKET),
    "L2TP, length and sequence": in_udp(1701, b"\x48\2\0\x85\0\5\0\6\0\1\0\1\xff\3\0\x21", PACKET),
    "L2TPv3 in UDP": in_udp(1701, b"\0\3\0\0\0\0\0\5", FRAME),
    "MPLS in UDP": in_udp(6635, bytes(LABEL), PACKET),
    "GRE in UDP": in_udp(4754, b"\0\0\x08\0", PACKET),
    "LISP": in_udp(4341, b"\x80\0\0\1\0\0\0\0", PACKET),
}
TUNNELLED = {name: bytes(layers) for name, layers in BUILT.items()}
UNKNOWN = {
    "not IP: MPLS (EtherType 0x8847)": bytes(ETHER / LABEL / Raw(b"\x10\0" + bytes(60))),
    "not IP: ARP (EtherType 0x0806)": bytes(typed(0x0806, bytes(46))),
    "not IP: MACsec, encrypted (EtherType 0x88e5)": bytes(typed(0x88E5, b"\x0c" + bytes(60))),
    "not IP: Arista (EtherType 0xd28b)": bytes(typed(0xD28B, b"\0\7\0\x10" + bytes(60))),
    "not IP: PPPoE (EtherType 0x8864)": bytes(ETHER / PPPoE(sessionid=5) / PPP(proto=0xC021) / Raw(bytes(40))),
    "not IP: NSH (EtherType 0x894f)": bytes(typed(0x894F, bytes(NSH(nextproto=99)))),
    "not IP: EtherType 0x1234": bytes(typed(0x1234, bytes(46))),
    "not IP: LLC (spanning tree and others)": bytes(typed(38, b"\x42\x42\x03" + bytes(40))),
    "not TCP or UDP: SCTP (protocol 132)": bytes(carried(132, bytes(20), Raw())),
    "not TCP or UDP: ESP, encrypted (protocol 50)": bytes(carried(50, bytes(20), Raw())),
    "not TCP or UDP: L2TPv3 (protocol 115)": bytes(carried(115, bytes(40), Raw())),
    "not TCP or UDP: protocol 200": bytes(carried(200, bytes(20), Raw())),
}
