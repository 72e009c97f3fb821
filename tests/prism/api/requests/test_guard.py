import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from prism.api.requests.guard import Buckets, bearer_token, host_name, is_cross_site, too_long
from prism.api.server.web_server import served
from prism.service.service_settings import Limits
from prism.service.tokens import Tokens
from tests.prism.api.conftest import make_service


def test_another_site_s_name_is_refused(url):
    assert httpx.get(f"{url}/api/v1/board", headers={"Host": "evil.example"}).status_code == 421
    assert httpx.get(f"{url}/", headers={"Host": "evil.example:80"}).status_code == 421
    for name in ("localhost:8080", "127.0.0.1", "[::1]:9", "LOCALHOST"):
        assert httpx.get(f"{url}/api/v1/board", headers={"Host": name}).status_code == 200


def test_a_page_of_another_site_may_change_nothing(api):
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert api.delete("/replays/0123456789abcdef", headers=headers).status_code == 403
    assert api.delete("/replays/0123456789abcdef", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 404


def test_browsers_are_told_to_be_strict(url):
    for path in ("/", "/api/v1/board", "/api/v1/none"):
        answer = httpx.get(url + path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_long_bodies_are_refused_before_they_are_read(api):
    answer = api.post("/session", content=b"x" * 70_000)
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"
    assert api.post("/session", content=b"x" * 100).status_code == 401


def test_long_bodies_of_unknown_length_are_refused_as_they_come(api):
    pieces = (b"x" * 1000 for _ in range(1000))
    answer = api.post("/replays", content=pieces, headers={"Content-Type": "text/plain"})
    assert answer.status_code == 422  # within the bound of uploads
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
    with served(make_service()) as port:
        answer = httpx.post(
            f"http://127.0.0.1:{port}/api/v1/replays",
            content=(head if i == 0 else b"x" * 10_000 for i in range(8)),
            headers=form,
        )
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"


def test_tokens_and_what_they_allow(tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    reader, admin = tokens.create("r", "read"), tokens.create("a", "admin")
    with served(make_service(tokens=tokens)) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        assert client.get("/").status_code == client.get("/healthz").status_code == client.get("/readyz").status_code == 200
        for path in ("/api/v1/board", "/api/v1/events", "/metrics", "/api/v1/none"):
            answer = client.get(path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
        allowed, all_ = ({"Authorization": f"Bearer {token}"} for token in (reader, admin))
        assert client.get("/api/v1/board", headers=allowed).status_code == 200
        assert client.get("/metrics", headers=allowed).status_code == 200
        assert client.delete("/api/v1/replays/0123456789abcdef", headers=allowed).status_code == 403
        assert client.delete("/api/v1/replays/0123456789abcdef", headers=all_).status_code == 404
        assert client.get("/api/v1/board", headers=allowed | {"Host": "any.example"}).status_code == 200
        tokens.revoke("r")
        assert client.get("/api/v1/board", headers=allowed).status_code == 401


def test_whoever_runs_the_service_may_read(tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    tokens.create("other", "admin")
    for owner, status in (("mine", 200), ("", 401)):
        with (
            served(make_service(tokens=tokens, owner=owner)) as port,
            httpx.Client(base_url=f"http://127.0.0.1:{port}") as client,
        ):
            mine = {"Authorization": f"Bearer {owner or 'none'}"}
            assert client.get("/api/v1/board", headers=mine).status_code == status
            assert client.get("/api/v1/board", headers={"Authorization": "Bearer other"}).status_code == 401
            assert client.get("/api/v1/board").status_code == 401
            assert client.delete("/api/v1/replays/0123456789abcdef", headers=mine).status_code == (403 if owner else 401)


def test_who_asks_too_often_is_told_when_to_come_back():
    with served(make_service(limits=Limits(per_second=0.01, burst=3))) as port:
        answers = [httpx.get(f"http://127.0.0.1:{port}/healthz") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 0 < int(answers[3].headers["retry-after"]) <= 101


def test_addresses_from_a_proxy_count_only_where_it_is_trusted():
    for proxies, expected in ((["127.0.0.0/8"], 200), ([], 429), (["10.0.0.0/8"], 429)):
        limits = Limits(per_second=0.01, burst=1)
        with served(make_service(limits=limits), proxies=proxies) as port:
            asked = [
                httpx.get(f"http://127.0.0.1:{port}/healthz", headers={"X-Forwarded-For": address})
                for address in ("192.0.2.1", "192.0.2.2")
            ]
        assert asked[1].status_code == expected, proxies


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3)), max_size=60))
def test_no_client_gets_more_than_its_share(asked):
    now = [0.0]
    buckets = Buckets(2.0, 5, 10, lambda: now[0])
    passed = dict.fromkeys("abc", 0)
    for client, pause in asked:
        now[0] += pause
        wait = buckets.take(client)
        assert 0 <= wait <= 0.5
        passed[client] += not wait
        assert passed[client] <= 5 + 2.0 * now[0] + 1e-6


def test_clients_that_are_distinguished_are_bounded():
    buckets = Buckets(1.0, 1, 3, lambda: 0.0)
    for i in range(100):
        assert buckets.take(str(i)) == 0
    assert len(buckets._left) == 3


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("a:80", "a"),
        ("a", "a"),
        ("[::1]:80", "::1"),
        ("[::1]", "::1"),
        ("", ""),
        ("A.b:1", "a.b"),
        ("127.0.0.1@evil:80", "127.0.0.1@evil"),
    ],
)
def test_names_in_host_headers(host, name):
    assert host_name(host) == name


def test_what_headers_say():
    assert not is_cross_site(Headers({}))
    assert not is_cross_site(Headers({"origin": "http://a:80", "host": "a:80"}))
    assert is_cross_site(Headers({"origin": "http://a:81", "host": "a:80"}))
    assert bearer_token(Headers({"authorization": "bearer  x "})) == "x"
    assert bearer_token(Headers({"authorization": "Basic x", "cookie": "a=b; prism_token=y"})) == "y"
    assert bearer_token(Headers({"cookie": "prism_token"})) == ""
    assert too_long(Headers({"content-length": "11"}), 10)
    assert too_long(Headers({"content-length": "-1"}), 10)
    assert not too_long(Headers({"content-length": "10"}), 10)
    assert too_long(Headers({"content-length": "9" * 5000}), 10)
