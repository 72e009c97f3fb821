import contextlib
import resource
import socket

import httpx
import pytest

from prism.api.server import _idle_connections as idle_connections
from prism.api.server.web_server import served
from prism.past.uploads import Uploads
from prism.service.service_settings import Limits
from tests.prism.api.conftest import make_service


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def closed(connection):
    """Whether the other side has closed a connection; waits for it as long as a connection may wait."""
    connection.settimeout(idle_connections.HEAD_S * 4)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.usefixtures("many_files")
def test_two_thousand_connections_that_send_nothing_lock_nobody_out():
    with served(make_service()) as port, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(2000)]
        for path in ("healthz", "readyz", "api/v1/board"):
            assert httpx.get(f"http://127.0.0.1:{port}/{path}", timeout=30).status_code == 200
        assert all(closed(connection) for connection in silent[: 2000 - idle_connections.MAX_WAITING])


def test_a_connection_that_sends_nothing_or_only_a_part_is_closed(monkeypatch):
    monkeypatch.setattr(idle_connections, "HEAD_S", 0.3)
    with served(make_service()) as port:
        for begun in (b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(begun)
                assert closed(connection)


def test_a_connection_is_kept_for_another_request_but_not_for_ever(monkeypatch):
    monkeypatch.setattr(idle_connections, "IDLE_S", 0.5)
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with served(make_service()) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(2):
            connection.sendall(request)
            answer = b""
            while not answer.endswith(b'{"ok":true}'):
                answer += connection.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 200")
        assert closed(connection)


@pytest.mark.parametrize(("limits", "why"), [({"pause_s": 0.3}, b"arrived for 0.3 s"), ({"body_s": 0.3}, b"longer than 0.3 s")])
def test_a_body_that_does_not_come_is_given_up(tmp_path, limits, why):
    head = b"POST /api/v1/replays HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999\r\n"
    head += b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    with (
        Uploads(tmp_path) as uploads,
        served(make_service(uploads=uploads, limits=Limits(**limits))) as port,
        socket.create_connection(("127.0.0.1", port)) as connection,
    ):
        connection.settimeout(20)
        connection.sendall(head)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 408")
    assert why in answer
    assert list(tmp_path.iterdir()) == []


def test_events_go_on_while_the_client_says_nothing(monkeypatch):
    monkeypatch.setattr(idle_connections, "HEAD_S", 0.2)
    with served(make_service()) as port, httpx.stream("GET", f"http://127.0.0.1:{port}/api/v1/events", timeout=5) as stream:
        lines = stream.iter_lines()
        assert next(lines)
        with pytest.raises(httpx.ReadTimeout):
            for _ in lines:
                pass


def test_who_is_alive_says_so_however_much_is_asked():
    with served(make_service(limits=Limits(requests=0))) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        refused = httpx.get(f"http://127.0.0.1:{port}/api/v1/board")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
