import json

import pytest
from typer.testing import CliRunner

from collectors import dump
from prism import cli
from prism.simulate import write
from prism.synth.presets import PRESETS
from prism.synth.simulate import simulate


def test_a_folder_holds_what_was_simulated(tmp_path):
    n = write("pipeline", tmp_path / "a" / "b", seed=2)
    flows, skipped = dump.read(tmp_path / "a" / "b" / "flows.csv.gz")
    made = simulate(PRESETS["pipeline"], 2)
    assert not skipped
    assert len(flows) == n == len(made.flows)
    assert flows.octets.sum() == made.flows.octets.sum()
    assert json.loads((tmp_path / "a" / "b" / "truth.json").read_text()) == made.truth
    assert json.loads((tmp_path / "a" / "b" / "topology.json").read_text()) == made.topology


def test_an_unknown_preset_is_one_line_and_exit_2(tmp_path):
    with pytest.raises(ValueError, match="pipeline"):
        write("nosuch", tmp_path)
    result = CliRunner().invoke(cli.app, ["simulate", "nosuch", str(tmp_path / "x")])
    assert result.exit_code == 2
    assert result.stderr.startswith("prism: no preset is called 'nosuch'")
    assert not (tmp_path / "x").exists()
