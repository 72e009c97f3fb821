import socket
import tempfile
import threading

import httpx
import pytest

from prism.api.server.web_server import ServerRequest, _listening, check_access, is_loopback, serve, served
from prism.service.tokens import Tokens
from tests.prism.api.conftest import make_service


def test_others_may_not_ask_without_tokens(tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    for service in (make_service(), make_service(tokens=tokens)):
        with pytest.raises(ValueError, match="token"), served(service, "0.0.0.0"):
            pass
    tokens.create("me", "read")
    check_access(make_service(tokens=tokens), "0.0.0.0")
    with served(make_service(tokens=tokens), "0.0.0.0") as port:
        assert httpx.get(f"http://127.0.0.1:{port}/api/v1/board").status_code == 401


OWN, ALL = ("127.0.0.1", "::1", "localhost", "127.9.9.9"), ("0.0.0.0", "::", "10.0.0.1", "example.org", "")


@pytest.mark.parametrize(("host", "own"), [*((host, True) for host in OWN), *((host, False) for host in ALL)])
def test_which_addresses_only_this_host_reaches(host, own):
    assert is_loopback(host) is own


def test_a_port_that_is_taken_is_reported():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match="in use") as error, served(make_service(), port=port):
            pass
    assert error.value.filename == f"127.0.0.1:{port}"


def test_answers_do_not_wait_for_acknowledgments():
    with _listening("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_nothing_is_left_behind():
    before = threading.enumerate()
    with served(make_service()) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").json() == {"ok": True}
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/healthz")
    left = [thread for thread in threading.enumerate() if thread not in before]
    assert not [thread for thread in left if thread.name in ("prism-api", "prism-hub")]


def test_a_service_as_it_is_wished(tmp_path):
    secret = Tokens(tmp_path / "tokens").create("me", "admin")
    wish = ServerRequest("0", tmp_path / "tokens", tmp_path / "spool", ["192.0.2.0/24"], ["prism.example"])
    with serve(make_service(), wish) as address, httpx.Client(base_url=address) as client:
        asked = {"Authorization": f"Bearer {secret}"}
        assert client.get("/api/v1/board").status_code == 401
        assert client.get("/api/v1/replays", headers=asked).json()["items"] == []
        assert client.get("/", headers={"Host": "prism.example"}).status_code == 200
        assert client.get("/", headers={"Host": "other.example"}).status_code == 421
        assert (tmp_path / "spool").is_dir()
        assert tempfile.gettempdir() == str(tmp_path / "spool")  # what is uploaded waits there too, not in memory
    assert tempfile.gettempdir() != str(tmp_path / "spool")


def test_all_addresses_with_tokens(tmp_path):
    Tokens(tmp_path / "tokens").create("me", "read")
    with serve(make_service(), ServerRequest("*:0", tmp_path / "tokens")) as address:
        port = address.rpartition(":")[2]
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200


@pytest.mark.parametrize(
    "wish",
    [ServerRequest("x"), ServerRequest("example.org:1"), ServerRequest("0", proxies=["everybody"]), ServerRequest("*:0")],
)
def test_what_cannot_be_wished(wish):
    with pytest.raises(ValueError, match=r"listen|everybody|token"), serve(make_service(), wish):
        pass


def test_tokens_that_cannot_be_understood_are_refused_at_the_start(tmp_path):
    (tmp_path / "tokens").write_bytes(b"\x80\x02 no tokens")
    with pytest.raises(ValueError, match="tokens"), served(make_service(tokens=Tokens(tmp_path / "tokens"))):
        pass
    with pytest.raises(OSError, match="directory"), served(make_service(tokens=Tokens(tmp_path))):
        pass
