import functools
import json
import os
import pty
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from collectors.columns.record import Flows
from prism.cli import main
from prism.recordings import file_analysis
from prism.report import json_report
from prism.topology import Topology

TOPOLOGY = '{"endpoints": {"10.10.0.1": {"host": "server0", "rail": 0, "leaf": "leaf0"}}}'


@pytest.fixture
def calls(diagnosis, monkeypatch):
    """What the analysis was asked, with the analysis itself left out."""
    asked = []

    def stand_in(inputs, topology, progress, columns, *, keep, **_):
        assert columns is None
        keep(Flows.build({"start_ns": []}, endpoints=()))
        asked.append((list(inputs), topology))
        progress("reading", 1, 2)
        return diagnosis

    monkeypatch.setattr(file_analysis, "replay", stand_in)
    return asked


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "leaf0.pcap.gz"
    path.write_bytes(b"x")
    return path


def run(*args):
    return CliRunner().invoke(main.app, ["replay", *map(str, args)])


def test_tables_on_stdout_and_exit_0_with_findings(calls, capture):
    result = run(capture)
    assert result.exit_code == 0
    assert "CRITICAL Slow rank 10.10.5.1" in result.stdout
    assert calls == [([("leaf0", str(capture))], None)]


def test_the_topology_is_read(calls, capture, tmp_path):
    (tmp_path / "t.json").write_text(TOPOLOGY)
    assert run(capture, "--topology", tmp_path / "t.json").exit_code == 0
    assert isinstance(calls[0][1], Topology)


def test_jobs_keep_the_names_of_an_earlier_report(calls, capture, diagnosis, tmp_path):
    earlier = json_report.dumps(diagnosis).replace('"job-1"', '"cafe"')
    (tmp_path / "before.json").write_text(earlier)
    result = run(capture, "--known", tmp_path / "before.json", "--json", "-")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert [job["id"] for job in told["jobs"]] == ["cafe"]
    assert {f["job"] for f in told["findings"]} == {"cafe"}
    assert len(calls) == 1


def test_report_trace_and_page_are_written(calls, capture, tmp_path):
    outputs = ("--json", tmp_path / "r.json", "--trace", tmp_path / "t.json", "--html", tmp_path / "r.html")
    result = run("a=" + str(capture), *outputs)
    assert result.exit_code == 0
    assert calls[0][0] == [("a", str(capture))]
    assert json.loads((tmp_path / "r.json").read_text())["schema"] == "prism-report/1"
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_a_folder_gets_a_trace_per_rank(calls, capture, tmp_path):
    assert run(capture, "--trace", f"{tmp_path}/traces/").exit_code == 0
    assert len(list((tmp_path / "traces" / "job-job-1").iterdir())) == 8
    assert run(capture, "--trace", f"{tmp_path}/no/traces/").exit_code == 2
    assert len(calls) == 1


def test_a_report_on_stdout_comes_alone(calls, capture):
    result = run(capture, "--json", "-")
    assert calls
    assert json.loads(result.stdout)["schema"] == "prism-report/1"


def test_warnings_go_to_stderr_beside_a_report_on_stdout(diagnosis, capture, monkeypatch):
    object.__setattr__(diagnosis.source, "warnings", ("leaf0.pcap.gz: cut off",))
    monkeypatch.setattr(file_analysis, "replay", lambda *_, **__: diagnosis)
    assert run(capture, "--json", "-").stderr == "prism: leaf0.pcap.gz: cut off\n"
    assert run(capture, "--json", "-", "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nosuch.pcap"], "prism: nosuch.pcap: no such file or directory"),
        (["CAPTURE", "--topology", "nosuch.json"], "prism: nosuch.json: no such file or directory"),
        (["CAPTURE", "--known", "nosuch.json"], "prism: nosuch.json: no such file or directory"),
        (["CAPTURE", "--known", "BAD"], "is not a report of prism replay --json"),
        (["CAPTURE", "--topology", "BAD"], "is not an IPv4 or IPv6 address"),
        (["CAPTURE", "--topology", "BINARY"], "offset 0: not UTF-8 text"),
        (["CAPTURE", "--json", "nosuch/r.json"], "prism: nosuch/r.json: the folder nosuch does not exist"),
        (["CAPTURE", "--json", "CAPTURE"], "is one of the inputs"),
        (["CAPTURE", "--json", "r.json", "--trace", "r.json"], "is given for two outputs"),
        (["CAPTURE", "--html", "r.json", "--json", "r.json"], "is given for two outputs"),
        (["CAPTURE", "leaf0=BAD"], "both belong to switch 'leaf0'"),
    ],
)
def test_bad_input_is_one_line_and_exit_2_before_the_analysis(calls, capture, tmp_path, args, message):
    (tmp_path / "bad.json").write_text('{"endpoints": {"10.0.0.300": {}}}')
    (tmp_path / "binary.json").write_bytes(b"\xff\x00")
    names = {"CAPTURE": str(capture), "BAD": str(tmp_path / "bad.json"), "BINARY": str(tmp_path / "binary.json")}
    for short, path in names.items():
        args = [arg.replace(short, path) for arg in args]
    result = run(*args)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert calls == []


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("leaf0.pcap.gz: not a capture\nat all"), 2, "prism: leaf0.pcap.gz: not a capture at all\n"),
        (OSError(5, "Input/output error", "leaf0.pcap.gz"), 2, "prism: leaf0.pcap.gz: input/output error\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 1, ""),
    ],
)
def test_what_ends_the_analysis(capture, tmp_path, monkeypatch, error, code, message):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(file_analysis, "replay", broken)
    result = run(capture, "--json", tmp_path / "r.json")
    assert result.exit_code == code
    assert result.stderr == message
    assert not (tmp_path / "r.json").exists()


def test_version_and_help():
    assert CliRunner().invoke(main.app, ["--version"]).exit_code == 0
    shown = run("--help")
    assert shown.exit_code == 0
    for option in ("--topology", "--json", "--trace", "--known", "--quiet", "FILE"):
        assert option in shown.stdout


def test_help_does_not_wait_for_the_analysis_to_be_imported():
    heavy = {"numpy", "scipy", "networkx", "yaml", "prism.recordings.file_analysis", "prism.report.json_report"}
    code = f"import sys, prism.cli.main; print(sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


SLOW = """
import sys, time, types
def slow(inputs, topology, progress, columns, **_):
    print("begun", flush=True)
    for i in range(30):
        progress("reading", i, 30)
        time.sleep(0.1)
    raise ValueError("enough")
sys.modules["prism.recordings.file_analysis"] = types.ModuleType("prism.recordings.file_analysis")
sys.modules["prism.recordings.file_analysis"].replay = slow
sys.argv = ["prism", "replay", *sys.argv[1:]]
from prism.cli.main import main
main()
"""


def test_ctrl_c_ends_quietly_with_130(capture):
    command = [sys.executable, "-c", SLOW, str(capture)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    listening = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # in the background shells ignore it
    with subprocess.Popen(command, preexec_fn=listening, **pipes) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "")


def on_a_terminal(*args):
    """What a run writes to stderr when that is a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", SLOW, *args], stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    shown = b""
    while process.poll() is None or shown == b"":
        try:
            shown += os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
    process.wait()
    os.close(leader)
    return shown.decode()


def test_progress_shows_on_a_terminal_only_and_not_when_quiet(capture):
    assert "reading" in on_a_terminal(str(capture))
    quiet = on_a_terminal(str(capture), "--quiet")
    assert quiet == "prism: enough\r\n"
    piped = subprocess.run([sys.executable, "-c", SLOW, str(capture)], capture_output=True, text=True, check=False)
    assert piped.stderr == "prism: enough\n"
