import httpx
import pytest

PATHS = ("", "/style.css", "/metrics", "/healthz", "/openapi.json", "/api/v1", "/api/v1/jobs", "/api/v1/none", "/none")


@pytest.mark.parametrize("path", PATHS)
def test_head_answers_as_get_without_a_body(url, path):
    head, get = httpx.head(url + path, timeout=60), httpx.get(url + path, timeout=60)
    assert head.status_code == get.status_code
    assert head.content == b""
    assert set(head.headers) - {"transfer-encoding"} == set(get.headers) - {"transfer-encoding"}
    if path != "/metrics":  # its counters move
        assert head.headers.get("content-length") == get.headers.get("content-length")


def test_the_head_of_an_endless_stream_ends(url):
    head = httpx.head(f"{url}/api/v1/events", timeout=60)
    assert head.status_code == 200
    assert head.headers["content-type"].startswith("text/event-stream")
