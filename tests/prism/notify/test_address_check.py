import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.notify.address_check import embedded_ipv4, refusal

PRIVATE = [
    *("127.0.0.1", "127.255.0.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.1.1", "100.64.0.1"),
    *("192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "2002:7f00:1::", "2002:0a00:0001::1", "2002:808:808::1"),
    *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::808:808", "2001:0:a00:1::1", "2606:4700::5efe:a00:1"),
]
METADATA = [
    "169.254.169.254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "168.63.129.16",
    "100.100.100.200",
    "fd00:ec2::254",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE + METADATA)
def test_what_is_not_public_is_refused(address):
    assert refusal(address).startswith(address)


@pytest.mark.parametrize("address", PRIVATE + METADATA)
def test_a_refusal_names_the_setting_that_lifts_it(address):
    networks = []
    while said := refusal(address, networks):  # Teredo holds two more addresses: each is named
        networks.append(ipaddress.ip_network(re.search(r"add allow: \[(\S+)\] to this receiver in the alerts file", said)[1]))
        assert len(networks) < 5
    assert networks


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_not(address):
    assert refusal(address) == ""


def test_networks_are_allowed_by_name():
    ten, ula = ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd12::/16")
    assert refusal("10.9.9.9", (ten,)) == refusal("::ffff:10.9.9.9", (ten,)) == refusal("fd12::5", (ten, ula)) == ""
    assert refusal("11.0.0.1") == ""
    assert refusal("192.168.0.1", (ten, ula))
    assert refusal("64:ff9b::a00:1", (ten,)) == ""
    assert refusal("64:ff9b::a00:1", (ipaddress.ip_network("64:ff9b::/96"),))  # what is inside is not allowed


@pytest.mark.parametrize("address", METADATA)
def test_metadata_needs_more_than_a_network(address):
    wide = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
    assert "metadata" in refusal(address, wide)
    real = next(embedded_ipv4(ipaddress.ip_address(address)), ipaddress.ip_address(address))
    assert refusal(address, (*wide, ipaddress.ip_network(real))) == ""


@given(st.ip_addresses())
def test_any_address_has_an_answer_and_mapping_changes_none(address):
    found = refusal(str(address))
    if isinstance(address, ipaddress.IPv4Address):
        assert bool(found) == bool(refusal(f"::ffff:{address}")) == bool(refusal(f"64:ff9b::{address}"))
        assert found or (address.is_global and not address.is_multicast)
