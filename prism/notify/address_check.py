"""Check addresses before posting: public ones, and those in explicitly allowed networks.

A webhook's address is untrusted input, and names may resolve to anything. So each resolved address is checked, also IPv4 inside
IPv6, and the connection goes to a checked address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")  # RFC 4291, 2.5.5.2
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052
LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")  # RFC 8215: the embedded address depends on the site
COMPATIBLE = ipaddress.IPv6Network("::/96")  # RFC 4291, 2.5.5.1
NOT_PUBLIC = "not public"
ISATAP = 0x5EFE  # RFC 5214: the 32 bits before the last 32 are [0|2]00:5efe
# Clouds hand out credentials at these addresses; they need an explicit address, a network is not enough.
METADATA = frozenset(
    map(
        ipaddress.ip_address,
        (
            *("169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192"),
            *("fd00:ec2::254", "fd20:ce::254"),
        ),
    )
)


def refusal(text: str, allow: Sequence[Network] = ()) -> str:
    """Explain why an address is refused, with the setting that allows it; empty if it is allowed. Raises ValueError."""
    address = ipaddress.ip_address(text.partition("%")[0])
    inner = tuple(embedded_ipv4(address))
    wrapped = bool(inner) and (address in NAT64 or address in MAPPED)
    for one in inner if wrapped else (address, *inner):
        networks = [network for network in allow if one.version == network.version and one in network]
        if one in METADATA:
            if not any(network.prefixlen == network.max_prefixlen for network in networks):
                return f"{text} gives out keys of machines (metadata); {_lifted(one)}, a wider network does not do"
        elif not networks and (why := _special(one)):
            return f"{text} is {why}, not public; {_lifted(one)}" if why != NOT_PUBLIC else f"{text} is {why}; {_lifted(one)}"
    return ""


def _lifted(address: Address) -> str:
    """Describe the setting that allows an address, and the network to enter there."""
    return f"if that is meant, add allow: [{ipaddress.ip_network(address)}] to this receiver in the alerts file"


def embedded_ipv4(address: Address) -> Iterator[ipaddress.IPv4Address]:
    """List the IPv4 addresses embedded in an IPv6 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address in NAT64 or address in LOCAL_NAT64 or (address in COMPATIBLE and int(address) > 1):
        yield low
    if int(address) >> 32 & 0xFDFFFFFF == ISATAP:
        yield low


def _special(address: Address) -> str:
    """Describe the special range of an address; empty for public ones."""
    kinds = {
        "unspecified": address.is_unspecified,
        "loopback": address.is_loopback,
        "link-local": address.is_link_local,
        "multicast": address.is_multicast,
        "private": address.is_private or (address.version == 6 and address.is_site_local),
        "reserved": address.is_reserved or address in LOCAL_NAT64,
        # as in newer versions of Python
        NOT_PUBLIC: not address.is_global or (address.version == 6 and address.sixtofour is not None),
    }
    return next((kind for kind, is_so in kinds.items() if is_so), "")
