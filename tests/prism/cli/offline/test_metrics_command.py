import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from prism.cli import main

HANG = Path(__file__).parents[4] / "pcaps" / "hang"


def metrics(*words):
    return CliRunner().invoke(main.app, ["metrics", *map(str, words)])


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    path = tmp_path_factory.mktemp("m") / "m.json"
    captures = sorted(HANG.glob("*.pcap.gz"))
    result = metrics(*captures, "--topology", HANG / "topology.json", "--json", path)
    assert result.exit_code == 0, result.stderr
    assert "effective training time" in result.stdout
    return captures, path


def test_a_hang_costs_effective_time(told):
    [job] = json.loads(told[1].read_text())["jobs"]
    assert job["ettr"]["lost_s"]["hang"] > 3.5
    assert 0.3 < job["ettr"]["ratio"] < 0.6
    assert {one["name"] for one in job["estimates"]} >= {"parameters", "dp bandwidth"}


def test_a_run_does_not_differ_from_itself(told, tmp_path):
    captures, path = told
    (tmp_path / "dcgm.prom").write_text('DCGM_FI_DEV_XID_ERRORS{gpu="1"} 79\n')
    result = metrics(*captures, "--topology", HANG / "topology.json", "--against", path, "--beside", tmp_path / "dcgm.prom")
    assert result.exit_code == 0
    assert "compared with 1 earlier runs: no difference" in result.stdout
    assert "gpu 1: DCGM_FI_DEV_XID_ERRORS is 79: hardware" in result.stdout


def test_bad_input(told, tmp_path):
    (tmp_path / "x").write_text("{}")
    assert metrics(told[0][0], "--against", tmp_path / "x").exit_code == 2
    assert metrics(told[0][0], "--beside", tmp_path / "x").exit_code == 2
    assert metrics(tmp_path / "absent").exit_code == 2
