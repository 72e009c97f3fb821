import gzip
import json

import pytest
from typer.testing import CliRunner

from prism.cli.main import app
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
        (["watch", "--replay", str(PCAPS / "slow_nic/leaf0.pcap.gz"), "--speed", "1e-300"], "--speed 1e-300"),
        (["watch", "--replay", str(PCAPS / "slow_nic/leaf0.pcap.gz"), "--scheduler", "foo"], "--scheduler foo"),
        (["replay", str(PCAPS / "slow_nic/leaf0.pcap.gz"), "--scheduler", "inproc://x"], "--scheduler inproc://x"),
        (["serve", "--scheduler", "tls://127.0.0.1:8786"], "--scheduler tls://127.0.0.1:8786"),
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


def cut_files(folder):
    """Files that hold nothing or were cut off, and what is to be said of each."""
    packets = gzip.decompress((PCAPS / "slow_nic/leaf0.pcap.gz").read_bytes())
    record = "start_ns,end_ns,src,dst,octets,packets\n" + "".join(f"{n},{n + 5},10.0.0.1,10.0.0.2,100,1\n" for n in range(1, 9))
    lines = "".join(
        f'{{"start_ns":{n},"end_ns":{n + 5},"src":"10.0.0.1","dst":"10.0.0.2","octets":100,"packets":1}}\n' for n in range(1, 9)
    )
    made = {
        "cut.pcap": (packets[:50_001], "offset 49934: the file ends inside this packet record"),
        "cut.pcap.gz": (gzip.compress(packets)[:20_000], "the gzip stream ends early"),
        "header.pcap": (packets[:24], "the capture holds no packets"),
        "cut.csv": (record.encode()[:-14], "skipped: "),
        "header.csv": (record.encode().partition(b"\n")[0] + b"\n", "no flow records"),
        "cut.jsonl": (lines.encode()[:-20], "skipped: "),
        "none.json": (b"[]", "no flow records"),
    }
    for name, (octets, said) in made.items():
        (folder / name).write_bytes(octets)
        yield str(folder / name), said


def test_what_was_cut_off_or_holds_nothing_is_reported(tmp_path):
    for path, said in cut_files(tmp_path):
        words = ["watch", "--replay", path, "--speed", "max"]
        shown, quiet = RUN.invoke(app, words), RUN.invoke(app, [*words, "--quiet"])
        assert (shown.exit_code, quiet.exit_code) == (0, 0), shown.output
        assert [line for line in shown.stderr.splitlines() if path in line and said in line], (path, shown.stderr)
        assert ("nothing to play" in shown.stderr) == ("no " in said)
        assert quiet.stderr == ""
