import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prism.cli.alert_commands import parse_seconds
from prism.cli.main import app
from tests.prism.alerts.stories import board, case, receiver
from tests.prism.app.test_notifier import quick, running
from tests.prism.receivers import listening, until


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
    assert lines[0].startswith(f"{later}  future  2099-01-01 00:00:00 UTC … 2099-01-01 02:00:00 UTC")
    assert lines[1].startswith(f"{name}  active")
    assert lines[1].endswith('host=~"server1.*" severity="warning"  ann: new cable')
    assert prism("silence", "remove", name[:4]) == [f'removed {name}: host=~"server1.*" severity="warning"']
    assert {one["id"] for one in json.loads("\n".join(prism("silence", "list", "--json")))} == {name, later}
    assert "ended" in prism("silence", "list")[1]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["silence", "add", "nothing"], "is not a matcher"),
        (["silence", "add", "a=b", "--for", "soon"], "is not a duration"),
        (["silence", "add", "job=b", "--for", "0h"], "at least one matcher"),
        (["silence", "add", "hsot=x"], "did you mean host?"),
        (["silence", "add", "job=x", "colour=red"], "labels: alertname, severity, job, subject, ids, host, switch)"),
        (["silence", "add", "a=b", "--from", "soon"], "is not a time"),
        (["silence", "remove", "abc"], "no active or future silence"),
        (["silence", "list", "--settings", "none.yaml"], "none.yaml: no such file"),
        (["alert", "test"], "no receivers are defined"),
        (["alert", "test", "--receiver", "x"], "no receiver is named 'x'"),
        (["alert", "list"], "does not exist"),
    ],
)
def test_what_cannot_be_meant_is_said_in_a_line(prism, words, what):
    said = prism(*words, code=2)
    assert said.startswith("prism: ")
    assert what in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("firing", "told"),
    [
        (None, "prism: the alerts that it matches are not known: no service has written outbox.json"),
        ([{"job": "a"}, {"job": "b"}], "prism: it matches 1 of 2 firing alerts"),
        ([{"job": "b"}], "prism: it matches none of 1 firing alerts; it will apply to future alerts"),
    ],
)
def test_a_silence_says_how_many_alerts_fit_it(tmp_path, monkeypatch, firing, told):
    monkeypatch.chdir(tmp_path)
    Path("alerts.yaml").write_text("folder: .\n")
    if firing is not None:
        Path("outbox.json").write_text(json.dumps({"firing": firing}))
    done = CliRunner().invoke(app, ["silence", "add", "job=a"])
    assert (done.exit_code, len(done.stdout.split())) == (0, 1)
    assert done.stderr.strip().replace(f"{tmp_path}/", "") == told


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
            until(lambda: (tmp_path / "outbox.json").exists() and sum("FAILED" in line for line in prism("alert", "list")) == 2)
    lines = prism("alert", "list")
    assert lines[0] == "DISABLED old (127.0.0.1): HTTP 410: the receiver no longer exists"
    assert lines[1].startswith("FAILED hook  WARNING: Slow rank 10.0.5.1 (server5): job job1 is 1.26× slower  created ")
    assert "1 attempt: HTTP 400: no" in lines[1]
    assert len(json.loads("\n".join(prism("alert", "list", "--json")))["dead"]) == 2


def test_durations():
    assert [parse_seconds(text) for text in ("90s", "90m", "1d12h", "2w")] == [90, 5400, 129_600, 1_209_600]
    for text in ("", "h", "1", "1h ", "-1h", "1.5h", "1h30"):
        with pytest.raises(ValueError, match="duration"):
            parse_seconds(text)
