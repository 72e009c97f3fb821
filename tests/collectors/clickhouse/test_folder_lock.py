import os

import pytest

from collectors.clickhouse.folder_lock import describe_owner, lock_folder
from collectors.clickhouse.store_error import InUseError, StoreError


def test_a_folder_is_had_once(tmp_path):
    held = lock_folder(tmp_path / "a", "lock")
    with pytest.raises(InUseError, match=rf"in use by process {os.getpid()} \(.+\); only one .*stop that one") as refused:
        lock_folder(tmp_path / "a", "lock")
    assert refused.value.process == os.getpid()
    (tmp_path / "a" / "lock").write_text("")  # a full disk took its owner's number
    with pytest.raises(InUseError, match="in use by process unknown") as refused:
        lock_folder(tmp_path / "a", "lock")
    assert refused.value.process == 0
    held.release()
    lock_folder(tmp_path / "a", "lock").release()


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file exists"):
        lock_folder(tmp_path / "file", "lock")


def test_to_whom_it_belongs_is_reported(tmp_path):
    path = tmp_path / "not" / "there"
    assert describe_owner(path, PermissionError(13, "")) == f" (user {os.geteuid()}; {tmp_path} belongs to {tmp_path.owner()})"
    assert describe_owner(path, OSError(28, "")) == ""
