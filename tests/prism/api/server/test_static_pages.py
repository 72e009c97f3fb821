import httpx

from prism.api.server._static_pages import WEB


def test_pages_are_there_and_not_sent_twice(url):
    page = httpx.get(url)
    assert page.headers["content-type"].startswith("text/html")
    assert page.text == (WEB / "index.html").read_text()
    assert httpx.get(url, headers={"If-None-Match": page.headers["etag"]}).status_code == 304


def test_nothing_outside_is_served(url):
    for path in ("/../pyproject.toml", "/..%2f..%2fpyproject.toml", "/%2e%2e/cli.py", "//etc/passwd", "/none"):
        assert httpx.get(url + path).status_code == 404
