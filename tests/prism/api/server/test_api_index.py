import httpx

from prism.api.server.web_server import served
from tests.prism.api.conftest import make_service


def test_every_link_of_the_index_answers(url):
    index = httpx.get(f"{url}/api/v1").json()
    for path in (*index["links"].values(), index["openapi"], index["docs"], index["metrics"]):
        assert httpx.head(url + path, timeout=60).status_code == 200, path
    assert httpx.get(f"{url}/api/v1/").json() == index


def test_the_index_links_all_that_can_be_read_without_a_name(url):
    """The store only where there is one."""
    paths = httpx.get(f"{url}/openapi.json").json()["paths"]
    plain = {path for path, ways in paths.items() if "get" in ways and path.startswith("/api/v1/") and "{" not in path}
    needy = {path for path in plain if any(one.get("required") for one in paths[path]["get"].get("parameters", ()))}
    assert set(httpx.get(f"{url}/api/v1").json()["links"].values()) == plain - needy - {"/api/v1/store"}
    with served(make_service(store=lambda: ())) as port:
        links = httpx.get(f"http://127.0.0.1:{port}/api/v1").json()["links"]
        assert httpx.get(f"http://127.0.0.1:{port}{links['store']}").status_code == 200


def test_the_description_is_at_its_usual_place_too(url):
    told = httpx.get(f"{url}/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    assert told == httpx.get(f"{url}/api/v1/openapi.json").json()


def test_an_unknown_path_of_the_api_names_the_index(url):
    answer = httpx.get(f"{url}/api/v2/jobs")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert "/api/v1" in answer.json()["detail"]


def test_a_wrong_method_is_refused_with_the_possible_ones(url):
    for path, allowed in (("jobs", "GET, HEAD"), ("replays", "GET, HEAD, POST"), ("session", "DELETE, GET, HEAD, POST")):
        answer = httpx.patch(f"{url}/api/v1/{path}")
        assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
        assert answer.headers["content-type"] == "application/problem+json"
    assert httpx.post(f"{url}/api/v1/none").status_code == 404
