import httpx

from prism.api.requests.problem_details import not_found
from prism.api.server.web_server import served
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


def test_what_does_not_exist_says_what_was_asked_what_is_known_and_what_to_do(url):
    for path, kind in (("jobs", "job"), ("findings", "finding")):
        known = [one["id"] for one in httpx.get(f"{url}/api/v1/{path}").json()["items"]]
        detail = httpx.get(f"{url}/api/v1/{path}/nosuch").json()["detail"]
        assert detail.startswith(f"no {kind} has the id 'nosuch'; known: ")
        assert detail.endswith(f"; GET /api/v1/{path} lists them")
        assert all(name in detail for name in known)
    detail = httpx.get(f"{url}/api/v1/board", params={"replay": 16 * "0"}).json()["detail"]
    assert detail == (
        "no finished replay has the id '0000000000000000'; there is no finished replay now; GET /api/v1/replays lists them"
    )


def test_of_many_known_names_the_first_are_given():
    assert (
        "known: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more; " in not_found("job", "x", list(map(str, range(12))), "/jobs").detail
    )
