"""Pages and alerts of a service, on real sockets; as a whole in test_service_whole."""

import urllib.request
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest

from collectors.operations.metrics import Count
from prism.api.server.web_server import ServerRequest
from prism.app.service_outputs import to_all
from prism.service.service_file import read
from prism.service.tokens import Tokens
from prism.tracking.board import Board, Boards


def parts():
    """What the service shows, without a store: nobody is to be told anything."""
    watch = SimpleNamespace(boards=Boards(Board()))
    counts = [Count("prism_own", "A counter.", {(): 7})]
    database = SimpleNamespace(where="store", create=lambda _table: None, query=lambda _sql, _given=None: {})
    return SimpleNamespace(watch=watch, records=None, database=database, counts=lambda: iter(counts), health=dict, survey=None)


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return answer.read().decode()


def address(caplog):
    return next(record.message for record in caplog.records if "pages" in record.message).rpartition("url=")[2]


def test_pages_show_the_counters_of_the_service(caplog):
    caplog.set_level("INFO")
    with to_all(ServerRequest("0"), None)(parts()):
        url = address(caplog)
        assert "prism_own_total 7.0" in get(f"{url}/metrics")
        assert "<html" in get(url).lower()


def test_whoever_scrapes_by_another_name_needs_the_token(tmp_path, caplog):
    caplog.set_level("INFO")
    secret = Tokens(tmp_path / "tokens.json").create("prometheus", "read")
    with to_all(ServerRequest("0.0.0.0:0", tmp_path / "tokens.json"), None)(parts()):
        port = address(caplog).rpartition(":")[2]
        url = f"http://127.0.0.1:{port}"
        assert "true" in get(f"{url}/healthz", Host="prism:8080")
        with pytest.raises(HTTPError, match="401") as refused:
            get(f"{url}/metrics", Host="prism:8080")
        refused.value.close()
        assert "prism_own_total" in get(f"{url}/metrics", Host="prism:8080", Authorization=f"Bearer {secret}")


def test_a_service_is_noted_where_it_is_looked_for(tmp_path, caplog):
    caplog.set_level("INFO")
    with to_all(ServerRequest("0"), None, tmp_path)(parts()):
        running = read(tmp_path)
        assert running.url == address(caplog)
        assert "prism_own" in get(f"{running.url}/metrics", Authorization=f"Bearer {running.token}")
    assert read(tmp_path) is None


@pytest.mark.parametrize("tokens", [None, "tokens.json"])
def test_without_a_token_others_are_not_answered_and_it_says_what_to_do(tokens, tmp_path):
    wish = ServerRequest("*:0", tokens and tmp_path / tokens)
    with pytest.raises(ValueError, match=r"prism token create NAME --tokens"), to_all(wish, None)(parts()):
        pass


def test_no_pages_and_settings_that_are_not_there(tmp_path):
    with to_all(None, None)(parts()):
        pass
    with pytest.raises(FileNotFoundError):
        to_all(None, tmp_path / "alerts.yaml")
