import json

import numpy as np
import pyarrow.csv
from typer.testing import CliRunner

from benchmarks.counters import fabric
from prism.cli import main


def test_jobs_of_a_table(tmp_path):
    table, truth = fabric(np.random.default_rng(7), 64, 900)
    pyarrow.csv.write_csv(table, tmp_path / "a.csv")
    told = json.loads(CliRunner().invoke(main.app, ["counters", str(tmp_path / "a.csv"), "--json"]).stdout)
    assert {tuple(port) for port in told["jobs"][0]["ports"]} in truth.jobs
    shown = CliRunner().invoke(main.app, ["counters", str(tmp_path / "a.csv")])
    assert "job 1: " in shown.stdout
    (tmp_path / "m.yaml").write_text("port: nowhere\n")
    wrong = CliRunner().invoke(main.app, ["counters", str(tmp_path / "a.csv"), "--mapping", str(tmp_path / "m.yaml")])
    assert wrong.exit_code == 2
    assert "nowhere" in wrong.stderr
