import numpy as np
import pytest

from collectors import packet
from collectors.links import (
    BAD,
    FRAGMENT,
    KEPT,
    LINK_TYPES,
    NESTED,
    NOT_IP,
    NOT_TCP_OR_UDP,
    TRUNCATED,
    UNKNOWN,
    link,
)
from collectors.wire import compiled


def test_verdicts_are_in_the_order_of_the_reasons():
    reasons = {NOT_IP: "not ip", FRAGMENT: "fragment", TRUNCATED: "truncated header", BAD: "bad header"}
    reasons |= {NOT_TCP_OR_UDP: "not tcp or udp", NESTED: "tunnels in tunnels"}
    assert [reasons[verdict] for verdict in range(KEPT + 1, UNKNOWN)] == list(packet.REASONS)


@compiled
def told(at, octets, link_type):
    verdict, version, begin = link(at, at + octets, link_type)
    return verdict, version, begin - at


@pytest.mark.parametrize(
    ("link_type", "octets", "expected"),
    [
        (1, bytes(12) + b"\x08\x00", (KEPT, 4, 14)),
        (1, bytes(12) + b"\x81\x00\x00\x05\x86\xdd", (KEPT, 6, 18)),
        (1, bytes(12) + b"\x81\x00\x00", (TRUNCATED, 0, 14)),
        (1, bytes(12) + b"\x08\x06", (NOT_IP, 6, 14)),
        (1, bytes(13), (TRUNCATED, 0, 14)),
        (101, b"\x60", (KEPT, 6, 0)),
        (101, b"", (TRUNCATED, 0, 0)),
        (0, b"\x02\x00\x00\x00", (KEPT, 4, 4)),
        (147, bytes(60), (UNKNOWN, 0, 0)),
    ],
)
def test_where_the_header_of_ip_starts(link_type, octets, expected):
    assert (link_type in LINK_TYPES) == (expected[0] != UNKNOWN)
    buffer = np.frombuffer(octets + bytes(8), np.uint8)
    assert told(buffer.ctypes.data, len(octets), link_type) == expected
