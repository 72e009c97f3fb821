"""Processes and clusters that work is given to begin where they pay, say what they lack, and end."""

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest

from prism.workers.executors import PAYS, process_count, workers


def test_no_scheduler_is_one_line():
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9"), workers(1, "tcp://127.0.0.1:9", patience_s=0.2):
        pass


def test_processes_are_begun_where_they_pay():
    assert process_count(1000) == 1
    assert process_count(PAYS) >= 1
    with workers(1) as none, workers(2) as two:
        assert none is None
        assert isinstance(two, ProcessPoolExecutor)


def test_processes_end_with_who_began_them_even_if_that_is_killed():
    """Their standard error is a pipe of ours, which ends when the last of them has."""
    text = (
        "import os, sys\n"
        "from prism.workers.executors import beside\n"
        "if __name__ == '__main__':\n"
        "    with beside(1) as pool:\n"
        "        print(pool.submit(os.getpid).result(), flush=True)\n"
        "        sys.stdin.read()\n"
    )
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", text], **streams) as parent:
        worker = int(parent.stdout.readline())
        assert worker != parent.pid
        parent.kill()
        _, said = parent.communicate(timeout=120)
    assert "Traceback" not in said
