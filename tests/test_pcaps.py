"""The recorded runs in pcaps/, from the files to the report."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import accuracy
from benchmarks.score import compare
from prism import topology
from prism.recordings.file_analysis import replay
from prism.report import json_report

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[1] / "pcaps").glob("*/truth.json"))


def diagnosed(folder, monkeypatch):
    monkeypatch.chdir(folder)
    placed = topology.parse((folder / "topology.json").read_text(), "topology.json")
    inputs = [(switch, Path(path).name) for switch, path in accuracy.inputs(folder)]
    return json.loads(json_report.dumps(replay(inputs, placed, lambda *_: None), placed))


def test_interpreted_loops_say_the_same_as_compiled_ones(tmp_path):
    """Without compiled code, and without a compiler beside."""
    script = """
import sys
from collectors.compilation import compiled, warming
from prism.cli.main import app
if __name__ == "__main__":
    warming.Warming.start = lambda _: None
    app(sys.argv[1:], standalone_mode=False)
"""
    folder = Path(__file__).parents[1] / "pcaps" / "hang"
    files = [path.name for path in sorted(folder.glob("*.pcap.gz"))]
    arguments = ["replay", "--quiet", *files, "--topology", "topology.json", "--json", str(tmp_path / "report.json")]
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "empty"), "PYTHONPATH": str(folder.parents[1])}
    subprocess.run([sys.executable, "-c", script, *arguments], env=environment, cwd=folder, check=True, capture_output=True)
    assert (tmp_path / "report.json").read_text() == (folder / "report.json").read_text()
    assert not list((tmp_path / "empty").rglob("*.nbc"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_recorded_run(folder, monkeypatch):
    found = diagnosed(folder, monkeypatch)
    figures = compare(found, json.loads((folder / "truth.json").read_text())).figures()
    assert accuracy.misses(figures, accuracy.FLOORS) == []
    expected = json.loads((folder / "report.json").read_text())
    assert found["input"] == expected["input"]
    for ours, theirs in zip(found["jobs"], expected["jobs"], strict=True):
        assert ours.keys() == theirs.keys()
        assert (ours["endpoints"], ours["parallelism"]) == (theirs["endpoints"], theirs["parallelism"])
        assert [rank["steps"] for rank in ours["ranks"]] == [rank["steps"] for rank in theirs["ranks"]]
    told = ("kind", "severity", "subject", "title", "message")
    claims = [[[f[name] for name in told] for f in r["findings"]] for r in (found, expected)]
    assert claims[0] == claims[1]
