import httpx

from prism.api.serving import served
from tests.prism.api.conftest import make_service


def test_what_is_not_there_or_not_done_so(url):
    for answer, status in (
        (httpx.get(f"{url}/api/v1/none"), 404),
        (httpx.put(f"{url}/api/v1/board"), 405),
        (httpx.get(f"{url}/none"), 404),
    ):
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code == status


def test_a_fault_of_ours_tells_nothing_of_its_inside():
    def health():
        raise RuntimeError("secret")

    with served(make_service(health=health)) as port:
        answer = httpx.get(f"http://127.0.0.1:{port}/api/v1/health")
        assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text
