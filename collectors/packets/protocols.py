"""Define EtherTypes, IP protocols and UDP ports that carry frames or packets, and the reasons why a frame has no row."""

from __future__ import annotations

from collectors.packets import headers

# What is at a place in a frame: nothing that is read (its number is a verdict), a frame of Ethernet, what an EtherType says, a
# packet of IP (version 4 or 6), what an IP protocol says, UDP that carries neither a frame nor a packet.
REFUSED, FRAME, TYPE, NETWORK, PROTOCOL, PLAIN = range(6)
MOST_LAYERS = 32  # headers before TCP or UDP, each tag and each label for itself
MOST_TUNNELS = 4  # nested IP headers, for example a mirrored packet of a tunnel

MPLS, MPLS_MULTICAST = 0x8847, 0x8848  # RFC 5332
MACSEC, MACSEC_OPAQUE, MACSEC_CHANNEL = 0x88E5, 0x0C, 0x20  # IEEE 802.1AE clause 9.5: E or C; SC, which adds 8 octets
PPPOE, PPP = 0x8864, 0x880B  # RFC 2516; what PPTP has in GRE, RFC 2637 section 4.1
NSH = 0x894F  # RFC 8300
TRILL = 0x22F3  # RFC 6325 section 3
ARISTA, ARISTA_TIME = 0xD28B, 1  # time stamps; the format is in bits 4 to 7 of the version: 1 of 64 bits, 2 of 48
WCCP = 0x883E  # in GRE
ROCE_ETHERTYPE, GRH = 0x8915, 27  # RoCE version 1, IBTA annex A16: a global route header follows, see `infiniband`
LLC = 0x0600  # EtherTypes below are lengths, IEEE 802.3 clause 3.2.6
JUMBO_LLC = 0x8870
# Octets between a tag's own EtherType and the next one
TAG_OCTETS = {
    **dict.fromkeys(headers.TAGS, 2),
    0x8926: 4,  # VN-Tag of Cisco
    0x893F: 6,  # E-TAG, IEEE 802.1BR
    0x8909: 6,  # metadata of Cisco: security group
    0x8988: 6,  # TTag of Cisco: a time stamp
    0xF1C1: 4,  # R-TAG, IEEE 802.1CB
    0x892F: 4,  # HSR, IEC 62439-3
}
FRAME_AFTER = {0x88E7: 4, 0x8903: 2}  # PBB (IEEE 802.1ah), FabricPath of Cisco: octets before a whole frame

IPIP, IPV6_IN_IP, ETHER_IP, L2TP, MPLS_IN_IP, ETHERNET = 4, 41, 97, 115, 137, 143  # IANA, protocol numbers
VXLAN_LINUX, GPE, GENEVE, GTP_U, GUE = 8472, 4790, 6081, 2152, 6080
L2TP_PORT, MPLS_PORT, GRE_PORT, LISP = 1701, 6635, 4754, 4341
GRE_RESERVED = 0x4FFF  # bits of the first 2 octets of GRE that are 0, RFC 2890 section 2
VXLAN_WORD, GPE_NEXT = 0x08000000, 0x04  # flags of plain VXLAN and reserved octets; the P flag, draft-ietf-nvo3-vxlan-gpe-13
GPE_WORD, GENEVE_FIXED = 0x0C000000, 0xC03F0000  # flags with P; version and reserved bits of Geneve, RFC 8926 section 3.4

ETHERTYPES = {
    headers.IPV4: "IPv4",
    headers.IPV6: "IPv6",
    0x0806: "ARP",
    0x8035: "RARP",
    0x8100: "VLAN tag",
    0x88A8: "VLAN tag",
    MPLS: "MPLS",
    MPLS_MULTICAST: "MPLS",
    0x8863: "PPPoE discovery",
    PPPOE: "PPPoE",
    PPP: "PPP",
    0x8808: "MAC control (pause, PFC)",
    0x8809: "slow protocols (LACP)",
    0x88CC: "LLDP",
    MACSEC: "MACsec, encrypted",
    0x88F7: "PTP",
    0x8906: "FCoE",
    0x8914: "FCoE initialization",
    0x8915: "RoCE version 1",
    0x888E: "802.1X",
    0x8902: "connectivity fault management",
    0x9000: "loopback test",
    0x88E7: "PBB",
    0x8903: "FabricPath",
    0x88B5: "local experiment",
    0x88B6: "local experiment",
    0x22F4: "IS-IS of TRILL",
    TRILL: "TRILL",
    NSH: "NSH",
    ARISTA: "Arista",
    WCCP: "WCCP",
}
LLC_NAME = "LLC (spanning tree and others)"
PROTOCOLS = {
    1: "ICMP",
    2: "IGMP",
    33: "DCCP",
    headers.GRE: "GRE",
    50: "ESP, encrypted",
    58: "ICMPv6",
    59: "no next header",
    88: "EIGRP",
    89: "OSPF",
    ETHER_IP: "EtherIP",
    103: "PIM",
    108: "IPComp",
    112: "VRRP",
    L2TP: "L2TPv3",
    132: "SCTP",
    136: "UDP-Lite",
    MPLS_IN_IP: "MPLS",
}

# Verdicts: the frame has a row, or the reason is one of these, or the link type is unknown, or it is what cannot be read.
KEPT, NOT_IP, FRAGMENT, TRUNCATED, BAD, NOT_TCP_OR_UDP, NESTED, BEYOND, UNKNOWN = range(9)
REASONS = (
    "not IP",
    "IP fragment",
    "truncated header",
    "invalid header",
    "not TCP or UDP",
    "too many nested tunnels or tags",
    "IP length beyond the frame",
)
OTHER_TYPE = 16  # and the EtherType: not IP; LLC is that of EtherType 0
OTHER_PROTOCOL = OTHER_TYPE + (1 << 16)  # and the number of the IP protocol: not TCP or UDP
VERDICTS = OTHER_PROTOCOL + (1 << 8)


def reason_of(verdict: int) -> str:
    """Return the reason why a frame has no row, from its verdict (neither KEPT nor UNKNOWN), with the protocol if known."""
    if verdict < OTHER_TYPE:
        return REASONS[verdict - NOT_IP]
    if verdict == OTHER_TYPE:
        return f"{REASONS[NOT_IP - 1]}: {LLC_NAME}"
    if verdict < OTHER_PROTOCOL:
        number = verdict - OTHER_TYPE
        return f"{REASONS[NOT_IP - 1]}: {_named(ETHERTYPES.get(number), f'EtherType 0x{number:04x}')}"
    number = verdict - OTHER_PROTOCOL
    return f"{REASONS[NOT_TCP_OR_UDP - 1]}: {_named(PROTOCOLS.get(number), f'protocol {number}')}"


def _named(name: str | None, number: str) -> str:
    return f"{name} ({number})" if name else number


def is_named(verdict: int) -> bool:
    """Check whether a verdict has a name of its own: the number of these is small for any input."""
    number = verdict - OTHER_TYPE
    return number <= 0 or number in ETHERTYPES or verdict >= OTHER_PROTOCOL
