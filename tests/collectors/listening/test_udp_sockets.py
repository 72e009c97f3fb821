import socket
import time

import numpy as np
import pytest

from collectors.listening.udp_sockets import MIB, Endpoint, Receiver, dropped_datagrams, open_socket, parse_endpoint


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("2055", "127.0.0.1", 2055),
        (":2055", "127.0.0.1", 2055),
        ("*:2055", "", 2055),
        ("0.0.0.0:1", "0.0.0.0", 1),
        ("192.0.2.1:4739", "192.0.2.1", 4739),
        ("[::1]:6343", "::1", 6343),
        ("[::]:0", "::", 0),
    ],
)
def test_places(text, host, port):
    assert parse_endpoint("sflow", text) == Endpoint("sflow", host, port)


@pytest.mark.parametrize(
    "text", ["", ":", "localhost:1", "1.2.3.4", "1.2.3.4:", ":65536", ":-1", "[::1:5", "::1:5", "[1.2.3.4]x:5", ":x"]
)
def test_what_is_no_place(text):
    with pytest.raises(ValueError, match="is not an address to listen on"):
        parse_endpoint("sflow", text)


def test_a_place_as_text():
    assert [str(Endpoint("x", host, 5)) for host in ("1.2.3.4", "::1")] == ["1.2.3.4:5", "[::1]:5"]


@pytest.mark.parametrize(("where", "sender"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("", "127.0.0.1"), ("", "::1")])
def test_datagrams_come_with_sender_length_and_time(where, sender):
    try:
        sock, _ = open_socket(Endpoint("x", where, 0))
        family = socket.AF_INET6 if ":" in sender else socket.AF_INET
        client = socket.socket(family, socket.SOCK_DGRAM)
        client.bind((sender, 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    payloads = [b"", b"abc", bytes(65_000), *(bytes([i]) * i for i in range(1, 100))]
    before = time.time_ns()
    with sock, client:
        for payload in payloads:
            client.sendto(payload, (sender, sock.getsockname()[1]))
        receiver, found = Receiver(sock, slots=40), []
        while receiver.fill():
            batch = receiver.received()
            raw = socket.inet_pton(family, sender)
            assert all(who.endswith(raw) for who in batch.senders)
            assert all(before - 10**9 <= t <= time.time_ns() + 10**9 for t in batch.time_ns.tolist())
            data, begin = batch.copied(np.arange(receiver.count))
            for row, (at, length) in enumerate(zip(begin.tolist(), batch.length.tolist(), strict=True)):
                found.append(data[at : at + length])
                assert batch.head(row, 8) == found[-1][:8]
            receiver.clear()
        assert found == payloads


def sent(payloads, **knobs):
    """A receiver on a socket to which these payloads were sent from two addresses in turn."""
    sock, _ = open_socket(Endpoint("x", "127.0.0.1", 0))
    for i, payload in enumerate(payloads):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.bind((f"127.0.0.{1 + i % 2}", 0))
            client.sendto(payload, sock.getsockname())
    return sock, Receiver(sock, **knobs)


def test_some_rows_only_and_who_sent_them():
    sock, receiver = sent([b"aa", b"b", b"cccc"])
    with sock:
        assert receiver.fill() == 3
        batch = receiver.received()
        data, begin = batch.copied(np.array([0, 2]))
        assert (data, begin.tolist()) == (b"aacccc", [0, 2])
        assert [batch.senders[i] for i in batch.sender] == [bytes([127, 0, 0, i]) for i in (1, 2, 1)]


def test_blocks_are_bounded_filled_in_turn_and_used_again():
    sock, receiver = sent([bytes([i]) for i in range(9)], slots=2, blocks=2)
    with sock:
        assert receiver.fill() == 2
        first = receiver.received()
        assert receiver.has_room
        receiver.turn()
        assert not receiver.has_room
        assert receiver.fill() == 2
        assert receiver.fill() == 0  # there is no room
        assert (first.head(0, 9), first.head(1, 9)) == (b"\0", b"\1")
        assert (receiver.received().head(0, 9), receiver.received().head(1, 9)) == (b"\2", b"\3")
        receiver.give_back(first.block)
        receiver.turn()
        assert receiver.fill() == 2
        assert receiver.received().block is first.block
        assert receiver.received().head(0, 9) == b"\4"


def test_lingering_waits_for_company_but_not_for_ever():
    sock, receiver = sent([b"a"])
    with sock:
        began = time.monotonic()
        assert receiver.fill(linger=0.01) == 1
        assert receiver.fill(linger=0.01) == 0
        assert time.monotonic() - began < 60
        assert receiver.count == 1


def test_what_the_kernel_drops_is_counted_by_the_socket():
    sock, granted = open_socket(Endpoint("x", "127.0.0.1", 0), buffer=65_536)
    with sock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        assert granted == 65_536
        assert dropped_datagrams(sock) == 0
        for _ in range(500):
            client.sendto(bytes(1400), sock.getsockname())
        received, receiver = 0, Receiver(sock)
        while count := receiver.fill():
            received += count
        assert dropped_datagrams(sock) == 500 - received > 0


def test_a_big_buffer_is_requested():
    sock, granted = open_socket(Endpoint("x", "127.0.0.1", 0), buffer=32 * MIB)
    sock.close()
    assert 0 < granted <= 32 * MIB


def test_a_port_that_is_taken_is_named():
    sock, _ = open_socket(Endpoint("x", "127.0.0.1", 0))
    with sock:
        port = sock.getsockname()[1]
        with pytest.raises(OSError, match="in use") as caught:
            open_socket(Endpoint("x", "127.0.0.1", port))
    assert caught.value.filename == f"127.0.0.1:{port}"


def test_a_closed_socket_is_an_error():
    sock, _ = open_socket(Endpoint("x", "127.0.0.1", 0))
    sock.close()
    with pytest.raises(OSError, match="file descriptor"):
        Receiver(sock, slots=4).fill()
