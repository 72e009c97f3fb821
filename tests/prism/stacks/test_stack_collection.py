import sys
import threading

import pytest

from prism.stacks._collection_triggers import Action
from prism.stacks.stack_collection import act, acting, command_of
from prism.tracking.board import Case
from tests.prism.stacks.test_collection_triggers import HANG, board

ACTION = Action("c1", "j", ("n1", "n2"), ("10.0.0.1",), ("n2",), 5)
SCRIPT = """import os
for rank in range(4):
    call = "read" if rank == 2 else "wait_all"
    with open(os.environ["PRISM_FOLDER"] + f"/rank{rank}.txt", "w") as out:
        out.write(f'Thread 0x1 (most recent call first):\\n  File "a.py", line 1 in {call}\\n')
"""


def test_a_dry_run_runs_nothing(tmp_path):
    assert act(ACTION, ["touch", str(tmp_path / "x")], tmp_path, dry=True).startswith("dry run: would run touch")
    assert not list(tmp_path.iterdir())


def test_stacks_are_collected_and_clustered(tmp_path):
    (tmp_path / "dump.py").write_text(SCRIPT)
    told = act(ACTION, command_of(f"{sys.executable} {tmp_path / 'dump.py'}"), tmp_path, dry=False)
    assert told.startswith("4 stacks in")
    assert "outliers: 2" in told


def test_failures_are_reported(tmp_path):
    assert "status 3" in act(ACTION, ["sh", "-c", "exit 3"], tmp_path, dry=False)
    assert "cannot be run" in act(ACTION, ["/nowhere"], tmp_path, dry=False)
    assert "left no stacks" in act(ACTION, ["true"], tmp_path, dry=False)
    for wrong in ("", "a 'b"):
        with pytest.raises(ValueError, match="--on-hang"):
            command_of(wrong)


def test_boards_are_watched(tmp_path):
    asked = threading.Event()

    def after(revision, _):
        if revision:
            asked.set()
        return board(Case("c1", HANG, "open", 7, 7), revision=1) if not revision else board(revision=2)

    marker = tmp_path / "ran"
    with acting(after, f"touch {marker}", tmp_path / "s", dry=False, pause_s=0.01):
        assert asked.wait(20)
    assert marker.exists()
