import os

import pytest

from collectors.locking import hold
from collectors.tables import StoreError


def test_a_folder_is_had_once(tmp_path):
    held = hold(tmp_path / "a", "lock")
    with pytest.raises(StoreError, match=f"in use by process {os.getpid()}"):
        hold(tmp_path / "a", "lock")
    held.release()
    hold(tmp_path / "a", "lock").release()


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="file exists"):
        hold(tmp_path / "file", "lock")
