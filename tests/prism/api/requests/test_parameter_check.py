import httpx
import pytest


@pytest.mark.parametrize("path", ["/api/v1/findings", "/api/v1/jobs", "/api/v1/health", "/metrics", "/healthz", "/api/v1"])
def test_an_unknown_parameter_is_refused_by_name(url, path):
    answer = httpx.get(url + path, params={"severty": "critical"})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert "'severty'" in answer.json()["detail"]
    assert "This path knows: " in answer.json()["detail"]


def test_the_nearest_known_parameter_is_proposed(url):
    detail = httpx.get(f"{url}/api/v1/findings", params={"severty": "critical"}).json()["detail"]
    assert "did you mean 'severity'?" in detail
    assert "kind, limit, order, replay, severity" in detail


def test_a_repeated_parameter_is_refused(url):
    answer = httpx.get(f"{url}/api/v1/jobs?limit=1&limit=2")
    assert answer.status_code == 400
    assert "'limit' is given more than once" in answer.json()["detail"]


def test_a_path_that_does_not_exist_is_not_found_whatever_its_parameters(url):
    answer = httpx.get(f"{url}/api/v1/nothing", params={"colour": "red"})
    assert (answer.status_code, "no path /api/v1/nothing" in answer.json()["detail"]) == (404, True)


def test_both_descriptions_refuse_unknown_parameters(url):
    for path in ("/openapi.json", "/api/v1/openapi.json"):
        assert httpx.get(url + path, params={"colour": "red"}).status_code == 400


def test_a_link_with_tracking_parameters_opens_a_page(url):
    assert httpx.get(f"{url}/?utm_source=chat").status_code == 200
