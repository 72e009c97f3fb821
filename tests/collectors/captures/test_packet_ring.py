import os
import socket

import pytest

from collectors.captures.bpf import compile_filter, keep_all, roce_ends
from collectors.captures.packet_ring import Ring, link_type_of


def may_capture():
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except (PermissionError, AttributeError):
        return False
    return os.path.exists("/sys/class/net/lo")


needs_capture = pytest.mark.skipif(not may_capture(), reason="capturing on lo needs CAP_NET_RAW")


def captured(ring, port, count):
    """Frames to a UDP port, as (octets kept, wire length, time), once there are so many."""
    rows = []
    for _ in range(200):
        batch = ring.read(within=0.1)
        if batch is None:
            continue
        for at, n, wire, when in zip(
            *(c.tolist() for c in (batch.offset, batch.captured, batch.wire, batch.time_ns)), strict=True
        ):
            frame = bytes(batch.data[at : at + n])
            if frame[36:38] == port.to_bytes(2, "big") and frame[23] == 17:
                rows.append((frame, wire, when))
        if len(rows) >= count:
            return rows
    raise AssertionError(f"{len(rows)} of {count} frames came")


@pytest.fixture
def udp():
    """A UDP socket to send from, and one to send to, so that nothing is refused."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        to.bind(("127.0.0.1", 0))
        client.connect(to.getsockname())
        yield client, to.getsockname()[1]


@needs_capture
def test_every_frame_once_with_time_and_lengths(udp):
    client, port = udp
    ring = Ring("lo", keep_all(100), octets=4 << 20, block=1 << 16)
    try:
        for i in range(3000):  # more than the blocks of one read
            client.send(i.to_bytes(4, "big") + bytes(i % 200))
        rows = captured(ring, port, 3000)
        assert [int.from_bytes(frame[42:46], "big") for frame, _, _ in rows] == list(range(3000))
        assert [wire for _, wire, _ in rows] == [46 + i % 200 for i in range(3000)]
        assert all(len(frame) == min(100, wire) for frame, wire, _ in rows)
        times = [when for _, _, when in rows]
        assert times == sorted(times)
        ring.count_losses()
        assert (ring.lost, ring.received >= 3000) == (0, True)
        ring.detach()
        while ring.read(within=0.3) is not None:
            pass
        client.send(b"x")
        assert ring.read(within=0.3) is None
    finally:
        ring.close()


@needs_capture
def test_what_found_the_ring_full_is_counted(udp):
    client, port = udp
    ring = Ring("lo", compiled_or_all(port), octets=1 << 17, block=1 << 16)
    try:
        for _ in range(5000):
            client.send(bytes(100))
        ring.count_losses()
        assert ring.lost > 0
        assert len(captured(ring, port, ring.received - ring.lost)) == 5000 - ring.lost
    finally:
        ring.close()


def compiled_or_all(port):
    try:
        return compile_filter(f"udp dst port {port}", 256)
    except ValueError:
        pytest.skip("tcpdump is not installed")


@needs_capture
def test_a_filter_holds_from_the_first_frame_on(udp):
    client, _ = udp
    ring = Ring("lo", roce_ends(256), octets=1 << 18, block=1 << 16)
    try:
        client.send(b"x")
        assert ring.read(within=0.3) is None
    finally:
        ring.close()


def test_interfaces_that_are_none():
    with pytest.raises(OSError, match="no such interface") as caught:
        link_type_of("nosuch0")
    assert caught.value.filename == "nosuch0"
    for name in ("", "..", "../net/lo"):
        with pytest.raises(ValueError, match="is not an interface name"):
            link_type_of(name)
    assert link_type_of("lo") == 1
