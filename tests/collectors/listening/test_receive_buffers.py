import socket

import numpy as np
import pytest

from collectors.listening.receive_buffers import STRIDE, WIDE
from collectors.listening.udp_sockets import Endpoint, Receiver, open_socket

UDP_SEGMENT = 103


def receiver(*, slots=2048, host="127.0.0.1", joined=True):
    sock, _ = open_socket(Endpoint("x", host, 0), buffer=8 << 20, joined=joined)
    return sock, Receiver(sock, slots=slots)


def burst(sock, each, octets, *, host="127.0.0.1"):
    """Send octets as datagrams of a size, in one go, as one sender does that has much to say."""
    with socket.socket(sock.family, socket.SOCK_DGRAM) as client:
        client.bind((host, 0))
        client.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, each)
        client.sendto(octets, sock.getsockname()[:2])


def payloads(received, rows):
    """What these rows hold, copied, and in place where they are whole."""
    data, begin = received.copied(rows)
    found = [data[at : at + length] for at, length in zip(begin.tolist(), received.length[rows].tolist(), strict=True)]
    if received.whole:
        places = zip(received.places(rows).tolist(), received.length[rows].tolist(), strict=True)
        assert [bytes(received.block.data[at : at + length]) for at, length in places] == found
    return found


@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_what_the_kernel_joined_are_datagrams_again(host, joined):
    try:
        sock, reader = receiver(host=host, joined=joined)
    except OSError:
        pytest.skip("this machine has no IPv6")
    said = np.random.default_rng(1).bytes(4321)
    with sock:
        for turn in range(3):  # slots are narrow first, then wide where messages are long
            burst(sock, 100, said, host=host)
            burst(sock, 1400, said * 15, host=host)
            for _ in range(2):
                burst(sock, 1400, said * 15, host=host)
            while reader.fill():
                pass
            found = reader.received()
            parts = [(said, 100)] + [(said * 15, 1400)] * 3
            expected = [text[at : at + each] for text, each in parts for at in range(0, len(text), each)]
            rows = np.arange(len(found))
            assert payloads(found, rows) == expected
            assert payloads(found, rows[1::7]) == expected[1::7]
            assert [found.head(row, 30) for row in rows] == [payload[:30] for payload in expected]
            assert found.senders == [socket.inet_pton(sock.family, host)]
            assert found.block.stride == (WIDE if turn and joined else STRIDE)
            assert found.whole == (turn > 0 or not joined)
            assert found.prefers_wide == joined
            reader.turn()
            reader.give_back(found.block)


def test_slots_are_narrow_again_when_messages_are_short():
    sock, reader = receiver()
    with sock:
        for octets, stride in ((60_000, STRIDE), (60_000, WIDE), (9, WIDE), (9, STRIDE)):
            burst(sock, 1000, bytes(octets))
            assert reader.fill() == 1
            found = reader.received()
            assert (sum(found.length.tolist()), found.block.stride) == (octets, stride)
            reader.clear()


def test_senders_are_distinguished():
    sock, reader = receiver()
    with sock:
        for i in (3, 1, 3, 2):
            burst(sock, 100, bytes(250), host=f"127.0.0.{i}")
        reader.fill()
        found = reader.received()
        assert found.senders == [bytes([127, 0, 0, i]) for i in (3, 1, 2)]
        assert found.sender.tolist() == [0] * 3 + [1] * 3 + [0] * 3 + [2] * 3


def test_nobody_waits_for_a_block_for_ever():
    sock, reader = receiver()
    with sock:
        assert reader.wait(60)
        first = reader._block
        for _ in range(7):
            reader.turn()
        assert not reader.wait(0.01)
        reader.give_back(first)
        assert reader.wait(60)
