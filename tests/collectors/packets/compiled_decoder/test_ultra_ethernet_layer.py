"""Test that the compiled decoder of Ultra Ethernet equals the plain one for any octets."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.packets.frame_batch import Batch
from tests.collectors.aggregation.test_batch_decoder import assert_same
from tests.collectors.builders.uetframes import PACKETS, framed

FRAMES = [framed(packet) for packet in PACKETS.values()]


def test_every_packet_cut_anywhere() -> None:
    cut = [(i, frame[:n], len(frame)) for i, frame in enumerate(FRAMES) for n in range(30, min(len(frame), 140))]
    assert_same(Batch.of(cut))


CHANGES = st.lists(st.tuples(st.integers(36, 130), st.integers(0, 255)), max_size=5)


@given(st.lists(st.tuples(st.sampled_from(FRAMES), CHANGES, st.integers(30, 200)), min_size=1, max_size=30))
def test_damaged_packets(picks: list[tuple[bytes, list[tuple[int, int]], int]]) -> None:
    packets = []
    for i, (frame, changes, captured) in enumerate(picks):
        octets = bytearray(frame)
        for at, value in changes:
            octets[at % len(octets)] = value
        packets.append((i, bytes(octets[:captured]), len(octets)))
    assert_same(Batch.of(packets))


@given(st.lists(st.binary(max_size=160), min_size=1, max_size=20))
def test_arbitrary_octets(payloads: list[bytes]) -> None:
    assert_same(Batch.of([(i, framed(p), 42 + len(p)) for i, p in enumerate(payloads)]))
