import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.packets import plain_decoder
from collectors.packets.plain_decoder import TRUNCATED, Packet
from tests.collectors.builders.tunnelled import BARE, PACKET, PACKET6, TUNNELLED, UNKNOWN


def unpacked(frame, wire=0):
    return plain_decoder.unpack(frame, wire or len(frame), 1)


BARES = [unpacked(bytes(BARE / inner)) for inner in (PACKET, PACKET6)]


@pytest.mark.parametrize("name", TUNNELLED)
def test_a_packet_in_a_tunnel_is_the_packet(name):
    assert unpacked(TUNNELLED[name]) in BARES


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_read_has_its_name(name):
    assert unpacked(UNKNOWN[name]) == name


@pytest.mark.parametrize("name", TUNNELLED)
def test_a_tunnel_cut_anywhere(name):
    """Return the packet, or that it was truncated, or the outer packet if only the inner one identifies the tunnel."""
    frame = TUNNELLED[name]
    for captured in range(len(frame)):
        found = unpacked(frame[:captured], len(frame))
        assert found in (*BARES, TRUNCATED) or name.startswith(("MPLS", "L2TPv3", "VXLAN")) or "another port" in name, captured
        if name.startswith("MPLS") and not isinstance(found, Packet):
            assert found in (TRUNCATED, "not IP: MPLS (EtherType 0x8847)")


def test_many_tags_end_somewhere():
    tags = b"\x81\0\0\5" * 100
    frame = bytes(12) + tags + b"\x08\0" + bytes(PACKET)
    assert unpacked(frame) == plain_decoder.NESTED


@given(st.sampled_from(sorted(TUNNELLED)), st.lists(st.tuples(st.integers(0, 199), st.integers(0, 255)), max_size=6))
def test_damaged_tunnels_have_a_row_or_a_reason(name, changes):
    frame = bytearray(TUNNELLED[name])
    for at, value in changes:
        frame[at % len(frame)] = value
    found = unpacked(bytes(frame))
    assert found if isinstance(found, str) else 0 <= found.octets <= plain_decoder.MOST_PACKET
