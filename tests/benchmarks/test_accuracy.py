import json

import pytest

from benchmarks import accuracy

PERFECT = {
    "jobs_exact": 1.0,
    "jobs_extra": 0,
    "layout_exact": 1.0,
    "groups_f1": 1.0,
    "steps_recall": 1.0,
    "steps_precision": 1.0,
} | {
    "step_error_median": 0.0,
    "faults_recall": 1.0,
    "findings_precision": 1.0,
    "healthy_findings": 0,
}
S = 1_000_000_000


def truth():
    """Two ranks that train for three steps, the second of them slow."""
    ranks = [{"rank": r, "ip": f"10.0.0.{r}", "server": r} for r in range(2)]
    job = {"mode": "ddp", "layout": {"dp": 2}, "groups": {"dp": [[0, 1]]}, "ranks": ranks}
    job["steps"] = {str(r): [[i, i * S, (i + 1) * S] for i in range(3)] for r in range(2)}
    fault = {"kind": "compute_slow", "ranks": [1], "job": "A", "start_ns": S, "end_ns": 2 * S}
    return {"hosts": {f"h{r['rank']}": {"ip": r["ip"]} for r in ranks}, "jobs": {"A": job}, "faults": [fault]}


def test_floors_and_ceilings():
    made = PERFECT
    assert accuracy.misses(made, accuracy.FLOORS) == []
    assert accuracy.misses(made | {"layout_exact": 0.5}, accuracy.FLOORS) == ["layout_exact is 0.5, at least 0.8 is asked for"]
    assert accuracy.misses(made | {"step_error_median": 0.004}, accuracy.FLOORS) == [
        "step_error_median is 0.004, at most 0.003 is asked for"
    ]
    assert accuracy.misses(made | {"jobs_extra": 1}, accuracy.FLOORS) == ["jobs_extra is 1, at most 0 is asked for"]
    assert accuracy.misses(made | {"faults_recall": None}, accuracy.FLOORS) == []


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "truth.json").write_text(json.dumps(truth()))
    (tmp_path / "run" / "flows.csv").write_text("start_ns,end_ns,src,dst,octets\n")
    return tmp_path


def test_the_table_and_the_exit_code(folder, diagnosis, monkeypatch, capsys):
    monkeypatch.setattr(accuracy, "diagnose", lambda *_, **__: diagnosis)
    assert accuracy.main([str(folder), "--keep", str(folder / "kept"), "--explain"]) == 1
    out = capsys.readouterr().out
    assert "/run" in out
    assert "pooled (1)" in out
    assert "missed: jobs_exact is 0, at least 1 is asked for" in out
    assert "MISSED" in out
    assert len(list((folder / "kept").glob("*.json"))) == 1
    none = [f"--floor={name}={99 if name in accuracy.CEILINGS else 0}" for name in accuracy.FLOORS]
    assert accuracy.main([str(folder), *none]) == 0


def test_a_capture_that_fails_does_not_hide_the_others(folder, monkeypatch, capsys):
    def broken(*_):
        raise ValueError("flows.csv: no rows")

    monkeypatch.setattr(accuracy, "read", broken)
    assert accuracy.main([str(folder)]) == 1
    assert "could not be replayed" in capsys.readouterr().out


def test_nothing_to_replay(tmp_path, capsys):
    assert accuracy.main([str(tmp_path)]) == 2
    assert "no capture" in capsys.readouterr().err


def test_an_unknown_figure_is_refused_by_name(tmp_path, capsys):
    with pytest.raises(SystemExit):
        accuracy.main([str(tmp_path), "--floor", "layouts=1"])
    assert "'layouts'" in capsys.readouterr().err


def test_a_grid_is_scored_beside_the_papers_method(capsys):
    none = [f"--floor={name}={99 if name in accuracy.CEILINGS else 0}" for name in accuracy.FLOORS]
    assert accuracy.main(["--grid", "7:2", "--scale", "small", "--degraded", "1", "--baseline", *none]) == 0
    out = capsys.readouterr().out
    assert "000 ddp" in out
    assert "pooled (2)" in out
    assert "LLMPrism" in out
    assert "confidence" in out
    assert "layouts said with at least" in out
    assert "origin" in out
