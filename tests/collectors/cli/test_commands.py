from pathlib import Path

import pytest
from typer.testing import CliRunner

from collectors.cli import commands
from collectors.formats import text_files


@pytest.fixture
def two(tmp_path):
    """Two folders that each hold a leaf0.pcap."""
    paths = [tmp_path / name / "leaf0.pcap" for name in "ab"]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(b"")
    return [str(path) for path in paths]


def test_help_and_version():
    runner = CliRunner()
    assert runner.invoke(commands.app, ["--version"]).exit_code == 0
    assert "--out" in runner.invoke(commands.app, ["flows", "--help"]).stdout


def test_bad_input_is_one_line_and_exit_2(tmp_path):
    result = CliRunner().invoke(commands.app, ["flows", str(tmp_path / "no.pcap"), "-o", str(tmp_path / "o.csv")])
    assert result.exit_code == 2
    assert result.stderr == f"prism-collect: {tmp_path}/no.pcap: no such file or directory\n"


def test_captures_become_a_dump(tmp_path):
    folder = Path(__file__).parents[3] / "pcaps" / "two_jobs"
    files = [str(folder / f"{switch}.pcap.gz") for switch in ("leaf0", "leaf1", "spine0")]
    for name in ("flows.csv.gz", "flows.jsonl"):
        result = CliRunner().invoke(commands.app, ["flows", *files, "-o", str(tmp_path / name)])
        assert result.exit_code == 0
        assert "flow records from" in result.stderr
        flows, skipped = text_files.read(tmp_path / name)
        assert len(flows) > 1000
        assert not skipped
        assert {"10.10.0.1", "10.10.7.1"} <= set(flows.endpoints)
        assert ("leaf0", "spine0", "leaf1") in flows.paths


def test_a_dump_of_unknown_format_is_refused(tmp_path, two):
    result = CliRunner().invoke(commands.app, ["flows", two[0], "-o", str(tmp_path / "flows.xml")])
    assert result.exit_code == 2
    assert "ends in .csv or .jsonl" in result.stderr
