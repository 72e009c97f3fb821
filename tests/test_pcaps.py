"""The recorded runs in pcaps/, from the files to the report."""

import json
from pathlib import Path

import pytest

from benchmarks import accuracy
from benchmarks.score import compare
from prism import report, topology
from prism.replay import replay

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[1] / "pcaps").glob("*/truth.json"))


def diagnosed(folder, monkeypatch):
    monkeypatch.chdir(folder)
    placed = topology.parse((folder / "topology.json").read_text(), "topology.json")
    inputs = [(switch, Path(path).name) for switch, path in accuracy.inputs(folder)]
    return json.loads(report.dumps(replay(inputs, placed, lambda *_: None)))


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
    claims = [[(f["kind"], f["severity"], f["subject"], f["message"]) for f in r["findings"]] for r in (found, expected)]
    assert claims[0] == claims[1]
