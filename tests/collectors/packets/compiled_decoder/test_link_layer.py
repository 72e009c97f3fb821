import numpy as np
import pytest

from collectors.compilation.primitives import compiled
from collectors.packets import protocols
from collectors.packets.compiled_decoder.link_layer import LINK_TYPES, link, of_type
from collectors.packets.protocols import FRAME, MPLS, NETWORK, NOT_IP, OTHER_TYPE, REFUSED, TRUNCATED, TYPE, UNKNOWN


@compiled
def told(at, octets, link_type):
    kind, number, begin = link(at, at + octets, link_type)
    return kind, number, begin - at


@pytest.mark.parametrize(
    ("link_type", "octets", "expected"),
    [
        (1, bytes(12) + b"\x08\x00", (TYPE, 0x0800, 14)),
        (1, bytes(13), (REFUSED, TRUNCATED, 0)),
        (113, bytes(14) + b"\x86\xdd", (TYPE, 0x86DD, 16)),
        (276, b"\x88\x47" + bytes(18), (TYPE, MPLS, 20)),
        (101, b"\x60", (NETWORK, 6, 0)),
        (101, b"\x10", (REFUSED, NOT_IP, 0)),
        (101, b"", (REFUSED, TRUNCATED, 0)),
        (0, b"\x02\x00\x00\x00", (NETWORK, 4, 4)),
        (0, b"\x07\x00\x00\x00", (REFUSED, NOT_IP, 4)),
        (219, b"", (TYPE, MPLS, 0)),
        (147, bytes(60), (REFUSED, UNKNOWN, 0)),
    ],
)
def test_what_is_behind_the_header_of_the_link(link_type, octets, expected):
    assert (link_type in LINK_TYPES) == (expected[1] != UNKNOWN)
    buffer = np.frombuffer(octets + bytes(8), np.uint8)
    assert told(buffer.ctypes.data, len(octets), link_type) == expected


@compiled
def typed(kind, at, octets):
    found, number, begin = of_type(kind, at, at + octets)
    return found, number, begin - at


@pytest.mark.parametrize(
    ("kind", "octets", "expected"),
    [
        (0x8100, b"\x00\x05\x86\xdd", (TYPE, 0x86DD, 4)),
        (0x8100, b"\x00\x05\x86", (REFUSED, TRUNCATED, 2)),
        (0x8926, bytes(4) + b"\x08\x00", (TYPE, 0x0800, 6)),
        (0xD28B, b"\0\1\0\x20" + bytes(6) + b"\x08\x00", (TYPE, 0x0800, 12)),
        (0xD28B, b"\0\1\0\x30" + bytes(20), (REFUSED, OTHER_TYPE + 0xD28B, 0)),
        (0x88E5, b"\x20" + bytes(13) + b"\x08\x00", (TYPE, 0x0800, 16)),
        (0x88E5, b"\x2c" + bytes(20), (REFUSED, OTHER_TYPE + 0x88E5, 0)),
        (0x88E7, b"", (FRAME, 0, 4)),
        (MPLS, b"\0\0\x10\x40\x45", (TYPE, MPLS, 4)),
        (MPLS, b"\0\0\x11\x40\x45", (NETWORK, 4, 4)),
        (MPLS, b"\0\0\x11\x40" + bytes(40), (REFUSED, OTHER_TYPE + MPLS, 4)),
        (43, b"\x42\x42\x03", (REFUSED, OTHER_TYPE, 0)),
        (0x0806, b"", (REFUSED, OTHER_TYPE + 0x0806, 0)),
    ],
)
def test_what_an_ethertype_announces(kind, octets, expected):
    buffer = np.frombuffer(octets + bytes(40), np.uint8)
    assert typed(kind, buffer.ctypes.data, len(octets)) == expected
    assert protocols.reason_of(OTHER_TYPE + 0x8847) == "not IP: MPLS (EtherType 0x8847)"
