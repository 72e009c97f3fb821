import json
import os
import signal
import subprocess
import sys

import httpx
import pytest
from typer.testing import CliRunner

from prism.api.server.web_server import served
from prism.cli.main import app
from prism.service.tokens import Tokens
from tests.prism.api.conftest import make_service


@pytest.fixture(scope="module")
def url():
    with served(make_service()) as port:
        yield f"http://127.0.0.1:{port}"


def run(*words, code=0):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return done


def test_a_service_s_state_in_the_terminal(url):
    assert "job-1" in run("jobs", "--url", url).stdout
    assert "Slow rank" in run("findings", "--url", url, "--state", "open").stdout
    assert "forward" in run("job", "job-1", "--url", url).stdout
    assert json.loads(run("jobs", "--url", url, "--json").stdout)[0]["id"] == "job-1"
    assert json.loads(run("job", "job-1", "--url", url, "--json").stdout)["ranks_total"] == 24
    assert [one["id"] for one in json.loads(run("findings", "--url", url, "--json", "--state", "closed").stdout)] == ["closed"]


def test_what_goes_wrong_is_one_line(url):
    for words in (("job", "../board"), ("jobs", "--token-file", "/none"), ("findings", "--severity", "x")):
        done = run(*words, "--url", url, code=2)
        assert done.stderr.startswith("prism: ")
        assert done.stderr.count("\n") == 1


def test_what_is_not_installed_is_named(monkeypatch, url):
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "prism.service.service_client", raising=False)
    assert (
        run("jobs", "--url", url, code=2).stderr
        == "prism: the package httpx is missing; install it: pip install 'llm-prism[service]'\n"
    )


def test_tokens_are_made_shown_and_revoked(tmp_path):
    where = ("--tokens", str(tmp_path / "tokens.json"))
    secret = run("token", "create", "me", "--scope", "admin", *where).stdout.strip()
    assert Tokens(tmp_path / "tokens.json").scope(secret) == "admin"
    assert "me" in run("token", "list", *where).stdout
    assert "revoke it first" in run("token", "create", "me", *where, code=2).stderr
    run("token", "revoke", "me", *where)
    assert run("token", "list", *where).stdout == "No token.\n"
    assert "no token has the name or id 'me'" in run("token", "revoke", "me", *where, code=2).stderr


def test_files_are_shown_until_it_is_told_to_stop(tmp_path):
    path = tmp_path / "leaf0.csv"
    path.write_text("start_ns,end_ns,src,dst,octets\n1,2,10.0.0.1,10.0.0.2,3000\n")
    command = [sys.executable, "-c", "from prism.cli.main import main; main()", "open", str(path), "--port", "0"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        try:
            url = child.stdout.readline().strip()
            assert httpx.get(f"{url}api/v1/board").json()["source"]["flows"] == 1
            assert "html" in httpx.get(url).text
            child.send_signal(signal.SIGINT)
            assert child.wait(60) == 0
            assert child.stderr.read() == ""
        finally:
            child.kill()
    assert [one.name for one in tmp_path.iterdir()] == ["leaf0.csv"]
