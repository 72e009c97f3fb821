import json

from typer.testing import CliRunner

from prism.cli import main

RUN = CliRunner()


def logs(*words):
    return RUN.invoke(main.app, ["logs", *map(str, words)])


def test_a_failed_run(tmp_path):
    for rank in range(2):
        (tmp_path / f"rank{rank}.log").write_text("step 3 loss 1\n" + ("KeyError: 'x'\n" if rank else ""))
    result = logs(tmp_path, "--json", tmp_path.parent / "out.json")
    assert result.exit_code == 3
    assert "rank 1" in result.stdout
    assert json.loads((tmp_path.parent / "out.json").read_text())["cause"] == "user code"
    assert json.loads(logs(tmp_path, "--json", "-").stdout)["failed"]


def test_healthy_runs_are_learnt(tmp_path):
    log, known = tmp_path / "a.log", tmp_path / "known.json"
    log.write_text("step 3 loss 1\nRuntimeError: metrics are off\n")
    assert logs(log).exit_code == 3
    assert "1 lines of 1 healthy runs" in logs(log, "--learn", known).stdout
    assert logs(log, "--healthy", known).exit_code == 0


def test_a_topology_names_peers(tmp_path):
    place = tmp_path / "t.json"
    place.write_text(json.dumps({"endpoints": {"10.0.0.2": {"host": "node2"}}}))
    log = tmp_path / "a.log"
    log.write_text("RuntimeError: [x/gloo/tcp/pair.cc:5] Connection closed by peer [10.0.0.2]:38120.\n")
    assert json.loads(logs(log, "--topology", place, "--json", "-").stdout)["suspects"][0]["node"] == "node2"


def test_bad_input(tmp_path):
    assert logs().exit_code == 2
    assert logs(tmp_path / "absent").exit_code == 2
    (tmp_path / "x").write_text("{")
    assert logs(tmp_path / "x", "--healthy", tmp_path / "x").exit_code == 2
    assert logs(tmp_path / "x", "--follow", "--loki", "http://x").exit_code == 2
    assert logs("--loki", "file:///x").exit_code == 2


def test_healthy_runs_are_learnt_from_the_store(tmp_path):
    log, store = tmp_path / "a.log", tmp_path / "store"
    lines = "".join(f"step {step} loss 1\n" for step in range(1, 9))
    log.write_text(lines[:28] + "RuntimeError: metrics are off\n" + lines[28:])
    healthy = logs(log, "--store", store)
    assert healthy.exit_code == 0
    assert "learnt as a healthy run" in healthy.stderr
    log.write_text(lines + "RuntimeError: metrics are off\n")
    assert logs(log).exit_code == 3
    assert logs(log, "--store", store).exit_code == 0
    assert logs(log, "--store", store, "--learn", tmp_path / "x").exit_code == 2
