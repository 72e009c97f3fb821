import pytest

from prism.cli.offline.command_io import progress_bars, read_bookings, read_text, read_topology, write_text


def test_text_may_begin_with_a_mark_of_octet_order(tmp_path):
    (tmp_path / "a").write_bytes("x é".encode("utf-8-sig"))
    assert read_text(str(tmp_path / "a")) == "x é"


def test_text_that_is_not_utf_8_is_refused_with_the_place(tmp_path):
    (tmp_path / "a").write_bytes(b"ab\xff")
    with pytest.raises(ValueError, match=r"a: offset 2: not UTF-8 text"):
        read_text(str(tmp_path / "a"))


def test_errors_of_a_topology_name_its_file(tmp_path):
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(ValueError, match=r"t\.json"):
        read_topology(str(tmp_path / "t.json"))


def test_without_files_of_schedulers_there_are_no_bookings():
    assert read_bookings(None) == read_bookings([]) == ()


def test_quiet_progress_prints_nothing(capsys):
    with progress_bars(quiet=True) as tell:
        tell("read", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_result_is_written_as_utf_8(tmp_path):
    write_text(str(tmp_path / "a"), "×\n")
    assert (tmp_path / "a").read_bytes() == "×\n".encode()
