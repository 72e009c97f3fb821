import json

from typer.testing import CliRunner

from prism.cli.main import app
from prism.recordings.stored_replay import through
from tests.prism.played import capture
from tests.prism.web.conftest import PCAPS


def test_a_stretch_of_a_store_is_diagnosed(tmp_path):
    flows, *_ = capture("slow_rank")
    store = str(tmp_path / "store")
    through(store, flows)
    first, last = flows.window
    topology = str(PCAPS / "slow_rank" / "topology.json")
    asked = ["diagnose", "--store", store, "--topology", topology, "--json", "-", "--quiet"]
    done = CliRunner().invoke(app, [*asked, "--from", str(first), "--to", str(last + 1)])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert [one["subject"]["ids"] for one in report["findings"] if one["severity"] == "warning"] == [["10.10.5.1"]]
    none = CliRunner().invoke(app, [*asked, "--from", "2001-01-01T00:00:00Z", "--to", "2001-01-02T00:00:00Z"])
    assert none.exit_code == 2
    assert "no flow records from 2001" in none.stderr
    wrong = CliRunner().invoke(app, [*asked, "--from", "soon"])
    assert (wrong.exit_code, "'soon' is not a time" in wrong.stderr) == (2, True)
