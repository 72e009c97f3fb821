import httpx

from prism.api.server.web_server import served
from prism.service.tokens import Tokens
from tests.prism.api.conftest import make_service


def test_a_browser_keeps_its_token_where_no_script_reads_it(tmp_path):
    tokens = Tokens(tmp_path / "tokens")
    secret = tokens.create("me", "admin")
    with served(make_service(tokens=tokens)) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1") as client:
        assert client.get("/session").json() == {"needed": True, "scope": None}
        assert client.post("/session", headers={"Authorization": "Bearer wrong"}).status_code == 401
        begun = client.post("/session", headers={"Authorization": f"Bearer {secret}"})
        assert begun.status_code == 204
        assert "httponly" in begun.headers["set-cookie"].lower()
        assert "samesite=strict" in begun.headers["set-cookie"].lower()
        assert client.get("/session").json() == {"needed": True, "scope": "admin"}
        assert client.get("/board").status_code == 200
        assert client.delete("/replays/0123456789abcdef", headers={"Origin": "http://evil.example"}).status_code == 403
        assert client.delete("/session").status_code == 204
        assert client.get("/board").status_code == 401


def test_without_tokens_there_is_nothing_to_begin(api):
    assert api.get("/session").json() == {"needed": False, "scope": "admin"}
    assert api.post("/session").status_code == 401
