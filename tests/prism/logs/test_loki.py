import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from prism.logs import loki

ROWS = [(i * 10, f"line {i}") for i in range(7)]
ASKED: list[dict[str, list[str]]] = []


class Fake(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = parse_qs(urlsplit(self.path).query)
        ASKED.append({**asked, "auth": [self.headers["Authorization"] or ""]})
        status, body = 200, b"{}"
        if asked["query"] == ["bad"]:
            status, body = 400, b"parse error"
        else:
            start = int(asked["start"][0])
            values = [[str(t), text] for t, text in ROWS if t >= start][: int(asked["limit"][0])]
            result = [{"stream": {"host": "n1", "pod": "p"}, "values": values}]
            body = json.dumps({"data": {"resultType": "streams", "result": result}}).encode()
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def url():
    with HTTPServer(("127.0.0.1", 0), Fake) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_pages_are_joined(url, monkeypatch):
    monkeypatch.setattr(loki, "PAGE", 3)
    got = b"".join(loki.fetch(url, "{}", 0, 100, token="t")).decode().splitlines()
    assert [line.rsplit(": ", 1)[1] for line in got] == [f"line {i}" for i in range(7)]
    assert ASKED[-1]["auth"] == ["Bearer t"]


def test_refusals(url):
    with pytest.raises(ValueError, match=r"status 400.*parse error"):
        list(loki.fetch(url, "bad", 0, 1))
    with pytest.raises(ValueError, match="must begin with http"):
        list(loki.fetch("file:///etc/passwd", "{}", 0, 1))
    with pytest.raises(ConnectionError, match="does not answer"):
        list(loki.fetch("http://127.0.0.1:9", "{}", 0, 1))
