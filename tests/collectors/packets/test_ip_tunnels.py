import pytest

from collectors.packets import plain_decoder
from collectors.packets.plain_decoder import Packet
from tests.collectors.builders.tunnelled import ETHER, OUTER, TUNNELLED, carried


def unpacked(frame):
    return plain_decoder.unpack(frame, len(frame), 1)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("Geneve", 42),
        ("GTP-U", 42),
        ("GUE", 42),
        ("L2TP", 42),
        ("GRE in UDP", 42),
        ("VXLAN, another port", 45),
        ("Geneve, another port", 42),
        ("VXLAN-GPE, another port", 49),
    ],
)
def test_other_things_on_the_port_of_a_tunnel_are_udp(name, at):
    frame = bytearray(TUNNELLED[name])
    frame[at] = 0xFF
    found = unpacked(bytes(frame))
    assert isinstance(found, Packet)
    assert found.protocol == 17
    assert found.octets == len(frame) - 42


def test_an_authentication_header_is_passed_over_whatever_follows():
    assert unpacked(bytes(carried(51, b"\x84\4" + bytes(22), ETHER / OUTER))) == "not TCP or UDP: SCTP (protocol 132)"
    assert unpacked(bytes(carried(51, b"\4\xff" + bytes(22), ETHER / OUTER))) == plain_decoder.BAD
