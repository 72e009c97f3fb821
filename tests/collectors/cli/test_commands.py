import os
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("file", "switch"),
    [
        ("leaf0.pcap", "leaf0"),
        ("leaf0.pcap.gz", "leaf0"),
        ("spine-1.a.pcapng.zst", "spine-1.a"),
        ("flows.csv", "flows"),
        (".gz", ".gz"),
    ],
)
def test_a_file_s_stem_names_the_switch(tmp_path, monkeypatch, file, switch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_bytes(b"")
    assert commands.named_inputs([file]) == [(switch, file)]


def test_an_explicit_name_and_a_path_with_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.pcap").write_bytes(b"")
    assert commands.named_inputs(["a=b.pcap"]) == [("a=b", "a=b.pcap")]
    assert commands.named_inputs(["x=a=b.pcap"]) == [("x", "a=b.pcap")]


def test_standard_input():
    assert commands.named_inputs(["-"]) == [("stdin", "-")]
    assert commands.named_inputs(["leaf0=-"]) == [("leaf0", "-")]


def test_one_switch_name_for_two_files_is_refused_with_both_named(two):
    with pytest.raises(ValueError, match="both belong to switch 'leaf0'") as caught:
        commands.named_inputs(two)
    assert two[0] in str(caught.value)
    assert two[1] in str(caught.value)
    assert commands.named_inputs(["x=" + two[0], two[1]]) == [("x", two[0]), ("leaf0", two[1])]


def test_a_name_that_is_missing(two):
    with pytest.raises(ValueError, match="name before = is missing"):
        commands.named_inputs(["=" + two[0]])


def test_a_folder_and_a_file_that_is_not_there(tmp_path):
    with pytest.raises(IsADirectoryError):
        commands.named_inputs([str(tmp_path)])
    with pytest.raises(FileNotFoundError):
        commands.named_inputs([str(tmp_path / "no.pcap")])


def test_a_pipe_is_not_opened_before_its_time(tmp_path):
    os.mkfifo(tmp_path / "leaf0.pcap")  # opening it would wait for a writer
    assert commands.named_inputs([str(tmp_path / "leaf0.pcap")])[0][0] == "leaf0"


def test_outputs_are_checked(tmp_path, two):
    commands.check_output(str(tmp_path / "new.json"), [("leaf0", two[0]), ("stdin", "-")])
    for path in (str(tmp_path), str(tmp_path / "no" / "new.json"), two[0]):
        with pytest.raises(ValueError, match=r"folder|inputs"):
            commands.check_output(path, [("leaf0", two[0])])


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


def test_a_reader_that_leaves_is_no_error_message():
    code = "from collectors.cli.commands import complaints\nwith complaints('x'):\n    print('line\\n' * 100000)"
    shell = f'"{sys.executable}" -c "$0" | head -n 1'
    done = subprocess.run(["bash", "-c", shell, code], capture_output=True, text=True, check=False)
    assert done.stdout == "line\n"
    assert "BrokenPipe" not in done.stderr
