import socket
import time

import pytest

from collectors.receiving import MIB, Endpoint, Receiver, bound, drops, endpoint


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
    assert endpoint("sflow", text) == Endpoint("sflow", host, port)


@pytest.mark.parametrize(
    "text", ["", ":", "localhost:1", "1.2.3.4", "1.2.3.4:", ":65536", ":-1", "[::1:5", "::1:5", "[1.2.3.4]x:5", ":x"]
)
def test_what_is_no_place(text):
    with pytest.raises(ValueError, match="no place to listen"):
        endpoint("sflow", text)


def test_a_place_as_text():
    assert [str(Endpoint("x", host, 5)) for host in ("1.2.3.4", "::1")] == ["1.2.3.4:5", "[::1]:5"]


@pytest.mark.parametrize(("where", "sender"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("", "127.0.0.1"), ("", "::1")])
def test_datagrams_come_with_sender_length_and_time(where, sender):
    try:
        sock, _ = bound(Endpoint("x", where, 0))
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
        receiver, found = Receiver(slots=40), []
        while batch := receiver.receive(sock):
            raw = socket.inet_pton(family, sender)
            assert all(who.endswith(raw) for who in batch.senders)
            assert all(before - 10**9 <= t <= time.time_ns() + 10**9 for t in batch.time_ns.tolist())
            data, at = batch.payloads(range(len(batch.senders))), 0
            for row, length in enumerate(batch.length.tolist()):
                found.append(data[at : at + length])
                assert batch.head(row, 8) == found[-1][:8]
                at += length
        assert found == payloads
        assert receiver.receive(sock) is None


def test_some_rows_only():
    sock, _ = bound(Endpoint("x", "127.0.0.1", 0))
    with sock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for payload in (b"aa", b"b", b"cccc"):
            client.sendto(payload, sock.getsockname())
        assert Receiver().receive(sock).payloads([0, 2]) == b"aacccc"


def test_what_the_kernel_drops_is_counted_by_the_socket():
    sock, granted = bound(Endpoint("x", "127.0.0.1", 0), buffer=65_536)
    with sock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        assert granted == 65_536
        assert drops(sock) == 0
        for _ in range(500):
            client.sendto(bytes(1400), sock.getsockname())
        received, receiver = 0, Receiver()
        while batch := receiver.receive(sock):
            received += len(batch.senders)
        assert drops(sock) == 500 - received > 0


def test_a_big_buffer_is_asked_for():
    sock, granted = bound(Endpoint("x", "127.0.0.1", 0), buffer=32 * MIB)
    sock.close()
    assert 0 < granted <= 32 * MIB


def test_a_port_that_is_taken_is_named():
    sock, _ = bound(Endpoint("x", "127.0.0.1", 0))
    with sock:
        port = sock.getsockname()[1]
        with pytest.raises(OSError, match="in use") as caught:
            bound(Endpoint("x", "127.0.0.1", port))
    assert caught.value.filename == f"127.0.0.1:{port}"


def test_a_closed_socket_is_an_error():
    sock, _ = bound(Endpoint("x", "127.0.0.1", 0))
    sock.close()
    with pytest.raises(OSError, match="file descriptor"):
        Receiver(slots=4).receive(sock)
