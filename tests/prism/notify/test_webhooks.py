import gc
import ipaddress
import shutil
import socket
import threading
import time

import pytest

from prism.alerts.alert_settings import Limits
from prism.alerts.receivers.webhook_bodies import Post
from prism.notify.webhooks import deliver
from tests.prism.alerts.stories import LOOPBACK
from tests.prism.receivers import behaving, certificate, listening

LIMITS = Limits(timeout_s=30.0, answer_octets=4096)
SHORT = Limits(timeout_s=0.4, answer_octets=4096)
BODY = b'{"alerts": []}'


def send(url, *, limits=LIMITS, allow=LOOPBACK, **more):
    return deliver(Post(url, (("Content-Type", "application/json"),), BODY), allow=allow, limits=limits, **more)


@pytest.fixture(autouse=True)
def _nothing_is_left():
    before = set(threading.enumerate())
    yield
    gc.collect()
    assert not [one for one in set(threading.enumerate()) - before if one.name != "resolve"]


def test_a_post_arrives_as_it_is():
    with listening() as heard:
        assert send(f"{heard.url}/hook?x=1").ok
    ((path, headers, body),) = heard.posts
    assert (path, body, headers["content-type"]) == ("/hook?x=1", BODY, "application/json")
    assert headers["host"] == heard.url.removeprefix("http://")


@pytest.mark.parametrize(
    ("status", "headers", "again", "after_s", "gone"),
    [
        (429, {"Retry-After": "7"}, True, 7, False),
        (503, {"Retry-After": "100"}, True, 100, False),
        (500, {}, True, 0, False),
        (302, {"Location": "http://127.0.0.1:1/"}, True, 0, False),
        (400, {}, False, 0, False),
        (404, {"Retry-After": "7"}, False, 0, False),
        (410, {}, False, 0, True),
    ],
)
def test_what_a_server_says_is_heard(status, headers, again, after_s, gone):
    with listening() as heard:
        heard.answers["/"] = (status, headers, b'{"error":\n "routing_key s3cret \x1b[2J is bad"}')
        found = send(f"{heard.url}/", hidden=("s3cret",))
    assert (found.ok, found.may_retry, found.after_s, found.gone) == (False, again, after_s, gone)
    assert f"HTTP {status}" in found.why
    assert "routing_key *** \ufffd[2J is bad" in found.why
    assert len(heard.posts) == 1  # redirects are not followed


def hang(_, stop):
    stop.wait(60)


def drip(connection, stop):
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not stop.wait(0.05):
        connection.sendall(b"y")


def garbage(connection, _):
    connection.recv(65536)
    connection.sendall(b"\x00\xff" * 5000)


def slam(connection, _):
    connection.recv(65536)


def headers_without_end(connection, stop):
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not stop.is_set():
        connection.sendall(b"X-Y: " + b"z" * 8192 + b"\r\n")


def interim_without_end(connection, stop):
    connection.recv(65536)
    while not stop.is_set():
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100)


@pytest.mark.parametrize("does", [hang, drip, garbage, slam, headers_without_end, interim_without_end])
def test_what_is_no_answer_is_a_failure_that_may_pass(does):
    with behaving(does) as url:
        began = time.monotonic()
        found = send(url, limits=SHORT)
        assert time.monotonic() - began < 20
    assert (found.ok, found.may_retry) == (False, True)
    assert found.why


@pytest.mark.parametrize("status", [b"200 OK", b"500 No", b"400 Bad"])
def test_an_answer_without_end_is_read_no_further_than_needed(status):
    def flood(connection, stop):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 999999999999\r\n\r\n")
        while not stop.is_set():
            connection.sendall(b"word " * 2000)

    with behaving(flood) as url:
        found = send(url)
    assert (found.ok, found.may_retry) == (status[:1] == b"2", status[:1] == b"5")
    assert len(found.why) < 300


def test_a_status_counts_even_if_what_follows_never_comes():
    def stall(connection, stop):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad\r\nContent-Length: 10\r\n\r\n")
        stop.wait(60)

    with behaving(stall) as url:
        found = send(url, limits=SHORT)
    assert (found.may_retry, found.why) == (False, "HTTP 400")


def test_nobody_there_is_a_failure_that_may_pass():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = send(f"http://127.0.0.1:{port}/secret")
    assert (found.ok, found.may_retry) == (False, True)
    assert "secret" not in found.why
    found = send("http://no-such-host.invalid/", limits=SHORT)
    assert (found.ok, found.may_retry) == (False, True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0"])
def test_addresses_that_are_not_public_are_not_connected_to(host):
    with listening() as heard:
        port = heard.url.rpartition(":")[2]
        found = send(f"http://{host}:{port}/", allow=())
        assert not heard.posts
    assert (found.ok, found.may_retry) == (False, False)
    assert found.why.startswith("refused to connect")
    assert "to this receiver in the alerts file" in found.why  # not cut off


def test_every_address_of_a_name_is_checked(monkeypatch):
    """A name with a good and a bad address is refused; and it is asked for once: what it says later does not count."""
    asked, real = [], socket.getaddrinfo

    def lookup(host, port, *a, **k):
        if host != "prism.test":
            return real(host, port, *a, **k)
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in answers]

    with listening() as heard:
        port = int(heard.url.rpartition(":")[2])
        monkeypatch.setattr(socket, "getaddrinfo", lookup)
        answers = ["127.0.0.1", "10.0.0.1"]
        assert "10.0.0.1 is private" in send(f"http://prism.test:{port}/").why
        answers = ["127.0.0.2", "127.0.0.1"]  # the first does not answer
        two = (*LOOPBACK, ipaddress.ip_network("127.0.0.2/32"))
        assert send(f"http://prism.test:{port}/", allow=two).ok
        assert asked == ["prism.test"] * 2
        assert heard.posts[0][1]["host"] == f"prism.test:{port}"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_tls_is_checked_against_the_name_that_was_requested(tmp_path, monkeypatch):
    pem = certificate(tmp_path, "DNS:prism.test")
    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: real("127.0.0.1" if "test" in host else host, *a, **k))
    with listening(tls=pem) as heard:
        port = heard.url.rpartition(":")[2]
        assert send(f"https://prism.test:{port}/", ca_file=str(tmp_path / "cert.pem")).ok
        for url, ca in ((f"https://prism.test:{port}/", ""), (f"https://other.test:{port}/", str(tmp_path / "cert.pem"))):
            found = send(url, ca_file=ca)
            assert (found.ok, found.may_retry) == (False, True)
            assert "certificate" in found.why.lower()
    assert len(heard.posts) == 1


def test_proxies_of_the_environment_are_not_asked(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with listening() as heard:
        assert send(f"{heard.url}/").ok
