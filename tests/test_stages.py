"""The stages of scripts/check: what they name is there, they run side by side, and each is shown whole and in order."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def stages(monkeypatch):
    made = importlib.util.spec_from_file_location("stages", ROOT / "scripts" / "stages.py")
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    monkeypatch.setattr(module, "cores", lambda: 2)
    return module


def test_every_folder_of_tests_is_in_one_stage(stages):
    paths = [path for group in stages.GROUPS.values() for path in group]
    assert len(paths) == len(set(paths))
    for path in paths:
        assert (ROOT / path).is_dir()
        assert f"--ignore={path}" in stages.STAGES["tests-others"]


def test_stages_run_side_by_side_and_are_shown_in_order(stages, monkeypatch, capfd, tmp_path):
    wait = f"sh -c 'for i in $(seq 500); do [ -e {tmp_path}/b ] && echo a && exit; sleep 0.02; done; exit 1'"
    fails = f"sh -c 'echo b; echo c >&2; touch {tmp_path}/b; exit 3'"
    monkeypatch.setattr(stages, "STAGES", {"one": wait, "two": fails, "three": "echo d"})
    assert stages.main([]) == 1
    told = capfd.readouterr()
    said = [line for line in told.out.splitlines() if not line.startswith("   ")]
    assert said == [f"== one: {wait}", "a", f"== two: {fails}", "b", "c", "== three: echo d", "d"]
    assert "Failed after" in told.err
    assert told.err.split()[-1] == "two"


def test_some_stages_are_run_by_name(stages, monkeypatch, capfd):
    monkeypatch.setattr(stages, "STAGES", {"one": "false", "two": "echo b"})
    assert stages.main(["two"]) == 0
    assert "All checks passed" in capfd.readouterr().out
    assert stages.main(["three"]) == 2
    assert "there are one, two" in capfd.readouterr().err
