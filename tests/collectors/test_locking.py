import os

import pytest

from collectors.locking import hold, was_held, whose
from collectors.tables import StoreError


def test_a_folder_is_had_once(tmp_path):
    held = hold(tmp_path / "a", "lock")
    with pytest.raises(StoreError, match=rf"in use by process {os.getpid()} \(.+\)"):
        hold(tmp_path / "a", "lock")
    held.release()
    hold(tmp_path / "a", "lock").release()


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file exists"):
        hold(tmp_path / "file", "lock")


def test_whether_a_folder_was_ever_had(tmp_path):
    assert not was_held(tmp_path, "lock")
    hold(tmp_path, "lock").release()
    assert was_held(tmp_path, "lock")
    assert not was_held(tmp_path / "lock", "lock")
    with pytest.raises(StoreError, match=r"nnn: file name too long$"):
        was_held(tmp_path / ("n" * 300), "lock")


def test_to_whom_it_belongs_is_said(tmp_path):
    path = tmp_path / "not" / "there"
    assert whose(path, PermissionError(13, "")) == f" (user {os.geteuid()}; {tmp_path} belongs to {tmp_path.owner()})"
    assert whose(path, OSError(28, "")) == ""
