import socket

import numpy as np
import pytest

from collectors.listening._kernel_throttle import CUT_DIVISOR, EASE_NS, MIN_CHANCE, WAIT_NS, Throttle, sender_chances
from collectors.listening.udp_sockets import Endpoint, Receiver, dropped_datagrams, open_socket
from tests.collectors.builders.toys import send

HERE, THERE = bytes([127, 0, 0, 1]), bytes([127, 0, 0, 2])


def opened(host="127.0.0.1"):
    try:
        return open_socket(Endpoint("x", host, 0), buffer=4 << 20)[0]
    except OSError:
        pytest.skip("this machine has no IPv6")


def received(sock):
    """Datagrams that wait, by sender."""
    receiver, found = Receiver(sock), {}
    receiver.fill()
    if receiver.count:
        batch = receiver.received()
        for i in batch.sender.tolist():
            found[batch.senders[i]] = found.get(batch.senders[i], 0) + 1
    return found


def pressed(throttle, counts, now_ns, length=100):
    """Press with so many datagrams of each address."""
    senders = list(counts)
    sender = np.repeat(np.arange(len(senders)), list(counts.values()))
    throttle.press(senders, sender, np.full(len(sender), length), now_ns)


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_the_kernel_drops_part_of_what_one_sender_floods(host):
    with opened(host) as sock:
        throttle, port = Throttle(sock), sock.getsockname()[1]
        mapped = b"" if sock.family == socket.AF_INET else bytes(10) + b"\xff\xff"
        pressed(throttle, {mapped + HERE: 10, mapped + THERE: 1000}, 1 << 60)
        assert list(throttle.chances) == [THERE]
        for sender in ("127.0.0.1", "127.0.0.2"):
            send(port, [b"x"] * 1000, sender=sender)
        found = received(sock)
        assert found[mapped + HERE] == 1000
        assert 0 < found[mapped + THERE] < 3 * 1000 / CUT_DIVISOR
        assert dropped_datagrams(sock) == 2000 - sum(found.values())
        throttle.raise_chances((1 << 60) + EASE_NS)
        for i in range(2, 100):
            throttle.raise_chances((1 << 60) + i * 2 * EASE_NS)
        assert not throttle.chances
        send(port, [b"x"] * 1000, sender="127.0.0.2")
        assert received(sock) == {mapped + THERE: 1000}


def test_a_flood_over_ipv6_is_cut():
    with opened("::1") as sock:
        throttle = Throttle(sock)
        six = socket.inet_pton(socket.AF_INET6, "::1")
        pressed(throttle, {six: 1000, bytes(16): 1}, 1 << 60)
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as client:
            for _ in range(1000):
                client.sendto(b"x", sock.getsockname()[:2])
        assert 0 < received(sock)[six] < 3 * 1000 / CUT_DIVISOR


def test_one_sender_alone_keeps_all_it_sends():
    with opened() as sock:
        throttle = Throttle(sock)
        pressed(throttle, {HERE: 1000}, 1 << 60)
        assert not throttle.chances


def test_senders_of_as_much_as_others_lose_nothing():
    assert sender_chances({HERE: 100.0, THERE: 120.0}, 220) == {}
    assert sender_chances({bytes([i]): 100.0 for i in range(50)}, 5000) == {}


def test_several_floods_share_what_is_left():
    sent = {bytes([i]): 10_000.0 if i < 3 else 10.0 for i in range(20)}
    found = sender_chances(sent, 30_170)
    assert set(found) == {bytes([i]) for i in range(3)}
    assert sum(sent[address] * chance for address, chance in found.items()) <= 1.001 * 30_170 / CUT_DIVISOR


def test_a_cut_that_is_not_enough_goes_on_later_and_what_was_too_much_is_tried_slowly():
    with opened() as sock:
        throttle, now = Throttle(sock), 1 << 60
        pressed(throttle, {HERE: 10, THERE: 1000}, now)
        first = throttle.chances[THERE]
        pressed(throttle, {HERE: 10, THERE: 60}, now + WAIT_NS // 2)
        assert throttle.chances[THERE] == first
        pressed(throttle, {HERE: 10, THERE: 60}, now + WAIT_NS)
        second = throttle.chances[THERE]
        assert MIN_CHANCE <= second < first
        steps = []
        for i in range(1, 12):
            throttle.raise_chances(now + WAIT_NS + i * 2 * EASE_NS)
            steps.append(throttle.chances[THERE])
        assert steps[0] / second == pytest.approx(2 if 4 * second < first else 1.1)
        assert steps[-1] / steps[-2] == pytest.approx(1.1)
