import http.server
import threading

import pytest

from prism.api.server.web_server import served
from prism.service.service_client import ServiceClient
from prism.service.tokens import Tokens
from tests.prism.api.conftest import make_service


def test_lists_are_read_page_by_page():
    with served(make_service()) as port, ServiceClient(f"http://127.0.0.1:{port}/") as service:
        pages = list(service.all("/findings", max_items=9))
        assert len(pages) == 2
        assert list(service.all("/findings", max_items=1)) == pages[:1]
        assert list(service.all("/findings", max_items=9, state="closed", kind=None)) == pages[1:]
        with pytest.raises(ValueError, match="no job has the id 'x'; known: job-1; GET /api/v1/jobs lists them"):
            service.get("/jobs/x")
        with pytest.raises(ValueError, match="severity"):
            service.get("/findings", severity="bad")


def test_tokens_come_from_files(tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    (tmp_path / "mine").write_text(tokens.create("me", "read") + "\n")
    (tmp_path / "none").write_text("two words")
    with served(make_service(tokens=tokens)) as port:
        url = f"http://127.0.0.1:{port}"
        with ServiceClient(url, tmp_path / "mine") as service:
            assert service.get("/board")["revision"] == 1
        with ServiceClient(url) as service, pytest.raises(ValueError, match="--token-file"):
            service.get("/board")
    with pytest.raises(ValueError, match="contains no token"):
        ServiceClient(url, tmp_path / "none")


class _Other(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"[1]" if "list" in self.path else b"<html>")

    def log_message(self, *_):
        pass


def test_what_is_no_service_is_reported():
    with http.server.HTTPServer(("127.0.0.1", 0), _Other) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            with ServiceClient(f"http://127.0.0.1:{other.server_port}") as service:
                for path in ("/board", "/list"):
                    with pytest.raises(ValueError, match="not from a Prism service"):
                        service.get(path)
        finally:
            other.shutdown()
            thread.join()
    with ServiceClient(f"http://127.0.0.1:{other.server_port}") as service, pytest.raises(ValueError, match="no answer"):
        service.get("/board")
    for url in ("nonsense", "ftp://x", "http://", "http://a:b:c"):
        with pytest.raises(ValueError, match=r"http|nonsense|ftp"), ServiceClient(url) as service:
            service.get("/board")
