import gzip
import json
import pickle

import pytest

from prism.stacks.stack_folders import groups_of, read

STACK = 'Thread 0x1 (most recent call first):\n  File "a.py", line 1 in f\n'


def test_files_of_all_kinds(tmp_path):
    (tmp_path / "node7").mkdir()
    (tmp_path / "node7" / "rank3.txt").write_text(STACK)
    (tmp_path / "stack_4.txt.gz").write_bytes(gzip.compress(STACK.encode()))
    (tmp_path / "fr_5").write_bytes(pickle.dumps({"entries": []}))
    (tmp_path / "notes").write_text("x")
    (tmp_path / "bad_6").write_bytes(b"\x80\x04garbage")
    own = read(str(tmp_path))
    assert sorted(one.rank for one in own.dumps if one.rank is not None) == [3, 4]
    assert [one.rank for one in own.recordings] == [5]
    assert own.hosts == {3: "node7"}
    assert len(own.skipped) == 2


def test_no_dumps(tmp_path):
    with pytest.raises(ValueError, match="no stack dumps"):
        read(str(tmp_path))
    with pytest.raises(OSError, match="No such file"):
        read(str(tmp_path / "absent"))


def test_groups_of_a_report(tmp_path):
    path = tmp_path / "r.json"
    job = {"endpoints": ["10.0.0.1", "10.0.0.2"], "groups": [{"kind": "dp", "members": ["10.0.0.2", "10.0.0.1"]}]}
    path.write_text(json.dumps({"jobs": [job]}))
    groups, hosts = groups_of(str(path))
    assert groups[0].ranks == (1, 0)
    assert hosts == {0: "10.0.0.1", 1: "10.0.0.2"}
    path.write_text("{}")
    with pytest.raises(ValueError, match="not a report"):
        groups_of(str(path))
