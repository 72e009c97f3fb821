import os

import pytest

from collectors.cli import file_arguments


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
    assert file_arguments.named_inputs([file]) == [(switch, file)]


def test_an_explicit_name_and_a_path_with_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.pcap").write_bytes(b"")
    assert file_arguments.named_inputs(["a=b.pcap"]) == [("a=b", "a=b.pcap")]
    assert file_arguments.named_inputs(["x=a=b.pcap"]) == [("x", "a=b.pcap")]


def test_standard_input():
    assert file_arguments.named_inputs(["-"]) == [("stdin", "-")]
    assert file_arguments.named_inputs(["leaf0=-"]) == [("leaf0", "-")]


def test_one_switch_name_for_two_files_is_refused_with_both_named(two):
    with pytest.raises(ValueError, match="both belong to switch 'leaf0'") as caught:
        file_arguments.named_inputs(two)
    assert two[0] in str(caught.value)
    assert two[1] in str(caught.value)
    assert file_arguments.named_inputs(["x=" + two[0], two[1]]) == [("x", two[0]), ("leaf0", two[1])]


def test_a_name_that_is_missing(two):
    with pytest.raises(ValueError, match="name before = is missing"):
        file_arguments.named_inputs(["=" + two[0]])


def test_a_folder_and_a_file_that_is_not_there(tmp_path):
    with pytest.raises(IsADirectoryError):
        file_arguments.named_inputs([str(tmp_path)])
    with pytest.raises(FileNotFoundError):
        file_arguments.named_inputs([str(tmp_path / "no.pcap")])


def test_a_pipe_is_not_opened_before_its_time(tmp_path):
    os.mkfifo(tmp_path / "leaf0.pcap")  # opening it would wait for a writer
    assert file_arguments.named_inputs([str(tmp_path / "leaf0.pcap")])[0][0] == "leaf0"


def test_outputs_are_checked(tmp_path, two):
    file_arguments.check_output(str(tmp_path / "new.json"), [("leaf0", two[0]), ("stdin", "-")])
    for path in (str(tmp_path), str(tmp_path / "no" / "new.json"), two[0]):
        with pytest.raises(ValueError, match=r"folder|inputs"):
            file_arguments.check_output(path, [("leaf0", two[0])])
