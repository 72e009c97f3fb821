import os
import stat

import pytest

from collectors.files.atomic_files import atomic_path


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out.csv.gz"
    target.write_text("old")

    def fail():
        with atomic_path(str(target)) as name:
            assert name.endswith(".out.csv.gz")
            open(name, "w").close()
            raise RuntimeError("full")

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    with atomic_path(str(target)) as name, open(name, "w") as file:
        file.write("new")
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.csv.gz"]
    assert stat.S_IMODE(target.stat().st_mode) & 0o400


def test_what_is_no_regular_file_is_written_directly():
    with atomic_path("/dev/null") as name:
        assert name == "/dev/null"
