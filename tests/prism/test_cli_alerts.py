import json

import pytest
from typer.testing import CliRunner

from prism.cli import app
from prism.cli_alerts import seconds
from tests.prism.alerts.stories import board, case, receiver
from tests.prism.receivers import listening, until
from tests.prism.test_alerting import quick, running


@pytest.fixture
def prism(tmp_path, monkeypatch):
    """Run prism with settings in a folder; the lines it prints, or where it should fail, what it says of that."""
    monkeypatch.setenv("PRISM_ALERTS", str(tmp_path / "alerts.yaml"))
    (tmp_path / "alerts.yaml").write_text("labels: {}\n")

    def run(*words, code=0):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == code, done.output
        return done.stdout.splitlines() if code != 2 else done.stderr.strip()

    return run


def test_silences_come_are_listed_and_go(prism):
    (name,) = prism("silence", "add", "host=~server1.*", "severity=warning", "--for", "1d", "--why", "new cable", "--by", "ann")
    (later,) = prism("silence", "add", "job=x", "--from", "2099-01-01T00:00")
    lines = prism("silence", "list")
    assert lines[0].startswith(f"{later}  to come  2099-01-01 00:00:00 UTC … 2099-01-01 02:00:00 UTC")
    assert lines[1].startswith(f"{name}  in force")
    assert lines[1].endswith('host=~"server1.*" severity="warning"  ann: new cable')
    assert prism("silence", "remove", name[:4]) == [f'removed {name}: host=~"server1.*" severity="warning"']
    assert {one["id"] for one in json.loads("\n".join(prism("silence", "list", "--json")))} == {name, later}
    assert "over" in prism("silence", "list")[1]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["silence", "add", "nothing"], "is no matcher"),
        (["silence", "add", "a=b", "--for", "soon"], "no duration"),
        (["silence", "add", "a=b", "--for", "0h"], "silence all or nothing"),
        (["silence", "add", "a=b", "--from", "soon"], "is no time"),
        (["silence", "remove", "abc"], "no silence"),
        (["silence", "list", "--settings", "none.yaml"], "none.yaml: no such file"),
        (["alert", "test"], "there are no receivers"),
        (["alert", "test", "--receiver", "x"], "no receiver 'x'"),
        (["alert", "list"], "not there"),
    ],
)
def test_what_cannot_be_meant_is_said_in_a_line(prism, words, what):
    said = prism(*words, code=2)
    assert said.startswith("prism: ")
    assert what in said
    assert "\n" not in said


def test_a_test_says_who_took_it(prism, tmp_path):
    with listening() as heard:
        heard.answers["/no"] = (403, {}, b"\x1b[31mno")
        text = f"receivers:\n- {{name: a, kind: webhook, url: '{heard.url}/', allow: [127.0.0.1/32]}}\n"
        text += f"- {{name: b, kind: slack, url: '{heard.url}/no', allow: [127.0.0.1/32]}}\n"
        (tmp_path / "alerts.yaml").write_text(text)
        assert prism("alert", "test", code=1) == [
            "a (webhook): delivered, HTTP 200",
            "b (slack): FAILED, HTTP 403: \ufffd[31mno",
        ]
        assert prism("alert", "test", "--receiver", "a") == ["a (webhook): delivered, HTTP 200"]


def test_dead_letters_of_a_service_are_listed(prism, tmp_path):
    with listening() as heard:
        heard.answers["/"] = (400, {}, b"no")
        heard.answers["/gone"] = (410, {}, b"")
        to = receiver(url=f"{heard.url}/"), receiver("old", url=f"{heard.url}/gone")
        with running(quick(tmp_path, *to), first=board(case())):
            until(lambda: (tmp_path / "outbox.json").exists() and sum("DEAD" in line for line in prism("alert", "list")) == 2)
    lines = prism("alert", "list")
    assert lines[0] == "DISABLED old (127.0.0.1): HTTP 410: gone"
    assert lines[1].startswith("DEAD hook  WARNING: Slow rank 10.0.5.1 (server5): job job1 is 1.26× slower  made ")
    assert "1 try: HTTP 400: no" in lines[1]
    assert len(json.loads("\n".join(prism("alert", "list", "--json")))["dead"]) == 2


def test_durations():
    assert [seconds(text) for text in ("90s", "90m", "1d12h", "2w")] == [90, 5400, 129_600, 1_209_600]
    for text in ("", "h", "1", "1h ", "-1h", "1.5h", "1h30"):
        with pytest.raises(ValueError, match="duration"):
            seconds(text)
