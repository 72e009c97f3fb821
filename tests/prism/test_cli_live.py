import json

import pytest
from typer.testing import CliRunner

from prism.cli import app
from tests.prism.played import PCAPS

RUN = CliRunner()


def test_a_capture_is_watched():
    files = [str(path) for path in sorted((PCAPS / "slow_nic").glob("*.pcap.gz"))]
    shown = RUN.invoke(
        app, ["watch", "--replay", *files, "--topology", str(PCAPS / "slow_nic/topology.json"), "--speed", "max", "--json"]
    )
    assert shown.exit_code == 0, shown.output
    told = [json.loads(text) for text in shown.stdout.splitlines()]
    (opened,) = (one for one in told if one["what"] == "opened")
    assert opened["finding"]["subject"]["ids"] == ["10.10.3.1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["watch", str(PCAPS / "slow_nic/leaf0.pcap.gz")], "--replay"),
        (["watch", "--replay", "nowhere.pcap"], "nowhere.pcap"),
        (["watch", "--replay", str(PCAPS / "slow_nic/leaf0.pcap.gz"), "--speed", "fast"], "--speed fast"),
        (["serve", "--listen", "http://127.0.0.1:1"], "sflow://ADDRESS:PORT"),
        (["serve", "--topology", "nowhere.json"], "nowhere.json"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = RUN.invoke(app, words)
    assert shown.exit_code == 2
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--http", "none"],
        ["watch", "--replay", str(PCAPS / "slow_nic/leaf0.pcap.gz")],
        ["replay", "--quiet", str(PCAPS / "slow_nic/leaf0.pcap.gz")],
    ],
)
def test_a_server_that_is_away_is_to_be_tried_again(words, tmp_path, monkeypatch):
    """Supervisors start again what ends with 75 (EX_TEMPFAIL), and need not what ends with 2."""
    pytest.importorskip("clickhouse_driver")
    monkeypatch.chdir(tmp_path)
    shown = RUN.invoke(app, [*words, "--store", "clickhouse://127.0.0.1:1/prism"])
    assert shown.exit_code == 75
    assert "refused" in shown.stderr.splitlines()[-1]
    assert "Traceback" not in shown.stderr
